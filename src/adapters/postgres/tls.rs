//! Rule: whether what goes to a server may be read, or answered, by somebody in between.

use std::net::IpAddr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The host that such an address leads to without asking it to prove who it is, and the mode that says so. None: it is
/// asked, or is on this machine, or has a name without dots, as hosts of a network of containers have.
pub(crate) fn unverified_host(url: &str) -> Option<(String, &'static str)> {
    let options: PgConnectOptions = url.parse().ok()?;
    let mode = match options.get_ssl_mode() {
        PgSslMode::VerifyCa | PgSslMode::VerifyFull => return None,
        PgSslMode::Disable => "disable",
        PgSslMode::Allow => "allow",
        PgSslMode::Prefer => "prefer",
        PgSslMode::Require => "require",
    };
    let host = options.get_host();
    let bare = host.trim_matches(['[', ']']);
    let is_near = match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare.starts_with('/') || !bare.contains('.'),
    };
    (options.get_socket().is_none() && !is_near).then(|| (host.to_owned(), mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_far_away_is_to_prove_who_it_is() {
        for (rest, mode) in [
            ("db.example.com/baton", Some("prefer")),
            ("10.0.0.5/baton?sslmode=require", Some("require")),
            ("[2001:db8::5]/baton?sslmode=disable", Some("disable")),
            ("db.example.com/baton?sslmode=verify-ca", None),
            ("db.example.com/baton?sslmode=verify-full", None),
            ("127.0.0.1:5433/baton", None),
            ("[::1]/baton", None),
            ("localhost/baton", None),
            ("postgres/baton", None),
            ("%2Fvar%2Frun%2Fpostgresql/baton", None),
        ] {
            let found = unverified_host(&format!("postgres://baton:secret@{rest}"));
            assert_eq!(found.map(|(_, mode)| mode), mode, "{rest}");
        }
    }
}
