//! The simulated Green API: as its list of methods says, as Baton's own adapter finds it, and as the clients that Green API
//! itself gives away find it.

mod stand;

mod methods;

mod webhooks;

mod story;

mod clients;

use self::stand::Stand;
