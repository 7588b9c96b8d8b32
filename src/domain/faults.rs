//! How the demo's model and gateway misbehave when they are told to, on the sandbox's page or by the API.

use super::words::words;

words! {
    /// How the scripted model fails.
    ModelFault {
        /// Not at all.
        None = "none",
        /// The server fails.
        Error = "error",
        /// The stream breaks off in the middle.
        Cut = "cut",
        /// Nothing is written.
        Empty = "empty",
        /// Asked too often.
        RateLimited = "rate_limited",
        /// No word ever comes.
        Hang = "hang",
    }
}

words! {
    /// What happens to a message that is sent through the sandbox.
    ProviderFault {
        /// It arrives.
        None = "none",
        /// It is refused for good.
        Refused = "refused",
        /// No answer ever comes, and it does not arrive.
        Hang = "hang",
        /// It arrives, but the answer does not.
        LostAnswer = "lost_answer",
        /// The gateway answers with an error of its own, and it does not arrive.
        ServerError = "server_error",
    }
}
