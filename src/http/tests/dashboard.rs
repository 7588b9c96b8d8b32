use std::sync::Arc;

use super::{World, request};

#[tokio::test]
async fn the_page_is_shown_to_anyone_and_lets_nothing_in_from_elsewhere() {
    let world = World::new();
    for path in [
        "/",
        "/sign-in",
        "/inbox/0199aaaa-0000-7000-8000-000000000000",
        "/settings/people",
        "/settings/channels/shop",
        "/playground/6580000001%40c.us",
    ] {
        let page = world.send(request("GET", path, None)).await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(policy.contains("script-src 'self';") && policy.contains("connect-src 'self';"), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"), "{policy}");
        // A link to elsewhere, a script or a style in the page itself: the policy would stop them, so there are none.
        for wrong in ["://", "<style", "style=", "onclick", "<script>"] {
            assert!(!page.body.contains(wrong), "{path}: {wrong}");
        }
    }
    for path in ["/nowhere", "/inbox/a/b", "/index.html"] {
        assert_eq!(world.send(request("GET", path, None)).await.problem(), (404, "not_found".to_owned()));
    }
}

#[tokio::test]
async fn who_mistypes_an_address_is_shown_the_page_and_a_program_is_told_the_problem() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let world = World::new();
    for path in ["/nowhere", "/inbox/", "/inbox/a/b", "/index.html"] {
        let page = world.send(request("GET", path, None).insert_header(("Accept", BROWSER))).await;
        assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"), "{path}");
        assert!(page.body.contains("id=\"app\""), "{path}: {}", page.body);
    }
    for (method, path, accept) in [
        ("GET", "/api/v1/nowhere", BROWSER),
        ("GET", "/api", BROWSER),
        ("GET", "/webhooks/nowhere", BROWSER),
        ("GET", "/metrics/nowhere", BROWSER),
        ("GET", "/healthz/", BROWSER),
        ("GET", "/readyz/", BROWSER),
        ("GET", "/app/x/nothing.js", BROWSER),
        ("POST", "/nowhere", BROWSER),
        ("GET", "/nowhere", "*/*"),
        ("GET", "/nowhere", "application/json, text/html;q=0.9"),
    ] {
        let refused = world.send(request(method, path, None).insert_header(("Accept", accept))).await;
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{method} {path} {accept}");
    }
}

#[tokio::test]
async fn the_page_says_which_language_was_set_and_none_if_none_was() {
    for (language, said) in [(None, ""), (Some("es"), "es")] {
        let mut world = World::new();
        Arc::get_mut(&mut world.doors).expect("nobody else has them yet").language = language;
        let page = world.send(request("GET", "/", None)).await.body;
        assert!(page.contains(&format!(r#"<meta name="baton-language" content="{said}">"#)), "{page}");
    }
}

#[tokio::test]
async fn every_file_that_the_page_names_is_there_and_is_what_it_is_called() {
    let world = World::new();
    let page = world.send(request("GET", "/", None)).await.body;
    let named: Vec<&str> = page.split('"').filter(|part| part.starts_with("/app/")).collect();
    assert!(named.len() > 20, "{page}");
    for path in named {
        let file = world.send(request("GET", path, None)).await;
        let media_type = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!((file.status, file.header("content-type")), (200, media_type), "{path}");
        assert!(!file.body.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn nothing_but_its_files_can_be_had_from_the_dashboard() {
    let world = World::new();
    for name in [
        "index.html",
        "vendor/preact.d.ts",
        "../package.json",
        "..%2f..%2fCargo.toml",
        "style/../../vendor/bundle.mjs",
        "nothing.js",
        "style",
    ] {
        let reply = world.send(request("GET", &format!("/app/x/{name}"), None)).await;
        assert_eq!(reply.problem(), (404, "not_found".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn a_file_travels_packed_to_whoever_can_unpack_it() {
    let world = World::new();
    let ask = || request("GET", "/app/x/vendor/preact.js", None);
    let plain = world.send(ask()).await;
    assert_eq!(plain.header("content-encoding"), "");
    assert!(plain.header("vary").starts_with("accept-encoding"), "{}", plain.header("vary"));
    let packed = world.open(ask().insert_header(("Accept-Encoding", "br, gzip"))).await;
    assert_eq!(packed.headers().get("content-encoding").map(|value| value.as_bytes()), Some(&b"gzip"[..]));
    let bytes = actix_web::body::to_bytes(packed.into_body()).await.expect("a whole body");
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut unpacked)
        .expect("gzip");
    assert_eq!(unpacked, plain.body);
}
