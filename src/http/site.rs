//! Where Baton is for browsers: which pages are its own, where its links lead, the cookie of who is signed in, and from
//! where a request came.

use std::net::IpAddr;

use actix_web::{
    cookie::{Cookie, SameSite, time::Duration},
    http::header::{self, HeaderMap},
};

use crate::domain::network::Networks;

/// The name of the cookie.
pub(super) const SESSION: &str = "baton_session";

/// As long as browsers keep any: when a session is over is decided here, not there.
const KEPT: Duration = Duration::days(400);

/// The address of this installation.
pub struct Site {
    public_url: Option<String>,
    proxies: Networks,
}

impl Site {
    /// At `BATON_PUBLIC_URL`, or wherever browsers find it, behind those proxies.
    pub fn new(public_url: Option<&str>, proxies: Networks) -> Self {
        Self { public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()), proxies }
    }

    /// The network address that a request came from.
    pub(super) fn origin(&self, connected: IpAddr, headers: &HeaderMap) -> IpAddr {
        let named = headers.get_all(header::X_FORWARDED_FOR).filter_map(|value| value.to_str().ok());
        self.proxies.origin(connected, &named.collect::<Vec<_>>().join(","))
    }

    /// The address before every path: the public one, or that at which the request came.
    pub(super) fn base(&self, headers: &HeaderMap) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", text(headers, header::HOST).unwrap_or("localhost")),
        }
    }

    /// Whether a request was made by one of our own pages. A cookie comes along whoever made it; these headers no page can
    /// choose.
    pub(super) fn is_asked_by_our_page(&self, headers: &HeaderMap) -> bool {
        if let Some(site) = text(headers, header::HeaderName::from_static("sec-fetch-site")) {
            return site == "same-origin";
        }
        let Some(origin) = text(headers, header::ORIGIN) else { return false };
        let public = self.public_url.as_deref().and_then(origin_of);
        if public.is_some_and(|ours| is_same(ours, origin)) {
            return true;
        }
        let Some(at) = authority_of(origin) else { return false };
        // Whether there is TLS before us is not known here, unless the public address says so.
        let is_public_without_tls = public.and_then(authority_of).is_some_and(|ours| is_same(ours, at));
        text(headers, header::HOST).is_some_and(|host| is_same(at, host)) && !is_public_without_tls
    }

    /// Whether a session that begins by this request is for TLS alone. A browser keeps no such cookie of a page that came
    /// without: as in an office that has another address, where only the provider comes by the public one.
    pub(super) fn is_secure(&self, headers: &HeaderMap) -> bool {
        let public = self.public_url.as_deref().and_then(origin_of);
        let Some(public) = public.and_then(|origin| origin.strip_prefix("https://")) else { return false };
        let plain = text(headers, header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        plain.is_none_or(|at| is_same(at, public))
    }
}

/// The cookie of a session.
pub(super) fn cookie(token: &str, is_secure: bool) -> String {
    cookie_for(token, is_secure, KEPT)
}

/// Takes it away.
pub(super) fn no_cookie() -> String {
    cookie_for("", false, Duration::ZERO)
}

fn cookie_for(value: &str, is_secure: bool, kept: Duration) -> String {
    Cookie::build(SESSION, value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_secure)
        .max_age(kept)
        .finish()
        .to_string()
}

/// Where somebody signs in with that secret. What follows the `#` is not sent by browsers: no log has it.
pub fn sign_in_link(base: &str, secret: &str) -> String {
    format!("{}/sign-in#{secret}", base.trim_end_matches('/'))
}

/// `https://baton.example.com` of `https://baton.example.com/inbox`.
fn origin_of(url: &str) -> Option<&str> {
    let from = url.find("://")? + 3;
    let to = url[from..].find('/').map_or(url.len(), |at| from + at);
    Some(&url[..to])
}

/// `baton.example.com` of `https://baton.example.com`.
fn authority_of(origin: &str) -> Option<&str> {
    origin.split_once("://").map(|(_, at)| at)
}

fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && one.eq_ignore_ascii_case(other)
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(public_url: Option<&str>) -> Site {
        Site::new(public_url, Networks::default())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let named = |(name, value): &(&'static str, &str)| {
            (header::HeaderName::from_static(name), value.parse().expect("a value"))
        };
        pairs.iter().map(named).collect()
    }

    #[test]
    fn only_our_own_pages_are_our_own() {
        let site = at(Some("https://baton.example.com/"));
        let host = ("host", "10.0.0.5:8080");
        for (given, is_ours) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "https://baton.example.com")], true),
            (&[("origin", "https://BATON.example.com")], true),
            (&[("origin", "http://baton.example.com")], false),
            (&[("origin", "https://baton.example.com.evil.example")], false),
            (&[("origin", "http://10.0.0.5:8080")], true),
            (&[("origin", "http://10.0.0.5:8081")], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
            (&[("origin", "https://baton.example.com"), ("sec-fetch-site", "cross-site")], false),
            (&[("origin", "http://10.0.0.5:8080"), ("sec-fetch-site", "same-site")], false),
            (&[], false),
        ] {
            let all = [given, &[host]].concat();
            assert_eq!(site.is_asked_by_our_page(&headers(&all)), is_ours, "{given:?}");
        }
        // Somebody who alters what comes without TLS must not speak for the page that comes with it.
        let altered = headers(&[("origin", "http://baton.example.com"), ("host", "baton.example.com")]);
        assert!(!site.is_asked_by_our_page(&altered));
        let nowhere = headers(&[("origin", "http://"), ("host", "")]);
        assert!(!at(None).is_asked_by_our_page(&nowhere));
    }

    #[test]
    fn a_cookie_is_for_us_alone_and_for_tls_where_there_is_tls() {
        let plain = "baton_session=secret; HttpOnly; SameSite=Lax; Path=/; Max-Age=34560000";
        assert_eq!(cookie("secret", false), plain);
        let secure = "baton_session=secret; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=34560000";
        assert_eq!(cookie("secret", true), secure);
        assert!(no_cookie().starts_with("baton_session=; ") && no_cookie().ends_with("Max-Age=0"));
        let public = Some("https://baton.example.com");
        for (public, origin, is_secure) in [
            (None, "https://baton.example.com", false),
            (Some("http://10.0.0.5"), "http://10.0.0.5", false),
            (public, "https://baton.example.com", true),
            (public, "http://office.lan:8080", false),
            (public, "http://baton.example.com", true),
        ] {
            assert_eq!(at(public).is_secure(&headers(&[("origin", origin)])), is_secure, "{origin}");
        }
        assert!(at(public).is_secure(&headers(&[])), "whoever sends none is no browser");
    }

    #[test]
    fn links_lead_to_the_public_address_or_to_where_the_request_came() {
        let here = headers(&[("host", "127.0.0.1:8080")]);
        assert_eq!(at(None).base(&here), "http://127.0.0.1:8080");
        assert_eq!(at(Some("https://b.example/")).base(&here), "https://b.example");
        assert_eq!(sign_in_link("https://b.example/", "S"), "https://b.example/sign-in#S");
    }
}
