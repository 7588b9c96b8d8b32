//! The doors with scripted places behind them: what a client sees, and what the flow is asked.

#![allow(clippy::unwrap_used)]

mod fakes;

mod auth;

mod sign_in;

mod people;

mod webhook;

mod problems;

mod examples;

mod slow;

mod conversations;

mod drafts;

mod channels;

mod labels_and_replies;

mod webhook_endpoints;

mod idempotent;

mod batch;

mod export;

mod sandbox;

mod dashboard;

mod feed;

mod live;

mod media;

mod server;

use std::{
    cell::Cell,
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::{
    body::{BoxBody, to_bytes},
    dev::ServiceResponse,
    http::header::HeaderMap,
    test::{self, TestRequest},
};
use serde_json::Value;
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::fakes::{Album, Clerk, Crew, Drawer, House, Postbox, Shelf};
use super::{
    auth::Auth, count_cache::CountCache, doors::Doors, feed::Feed, names::Directory, ports::SandboxDoor,
    site::Site,
};
use crate::{
    domain::time::Time,
    flow::{
        back_office::{
            people::hash_of,
            registry::{Role, Token},
            sign_in::SignIn,
        },
        instance::onlookers::Onlookers,
        media::Fetching,
        notify::Notifier,
    },
};

/// The moment at which all of this happens.
const NOW: Time = Time(1_767_600_000_000);

thread_local! {
    static CLOCK: Cell<Time> = const { Cell::new(NOW) };
}

/// The clock of the machine, which only a test moves.
fn clock() -> Time {
    CLOCK.get()
}

/// Time passes; what is remembered for seconds is forgotten meanwhile.
fn pass(world: &World, ms: i64) {
    CLOCK.set(clock().plus_ms(ms));
    world.doors.auth.forget();
}

/// The token of the environment.
const ADMIN: &str = "environment-token-1234";

/// Doors over fakes, and the fakes.
struct World {
    doors: Arc<Doors>,
    shelf: Arc<Shelf>,
    house: Arc<House>,
    clerk: Arc<Clerk>,
    crew: Arc<Crew>,
    nudge: Arc<Notify>,
    onlookers: Arc<Onlookers>,
    album: Arc<Album>,
    postbox: Arc<Postbox>,
    drawer: Arc<Drawer>,
}

impl World {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(sandbox: Option<Arc<dyn SandboxDoor>>) -> Self {
        Self::at(None, sandbox)
    }

    /// At that public address.
    fn at(public_url: Option<&str>, sandbox: Option<Arc<dyn SandboxDoor>>) -> Self {
        let shelf = Arc::new(Shelf::default());
        let house = Arc::new(House::default());
        let clerk = Arc::new(Clerk::default());
        let crew = Arc::new(Crew::default());
        let drawer = Arc::new(Drawer::default());
        let nudge = Arc::new(Notify::new());
        let onlookers = Arc::new(Onlookers::default());
        let album = Arc::new(Album::default());
        let fetching = Arc::new(Fetching::new(album.clone(), album.clone(), Arc::default()));
        let stopping = CancellationToken::new();
        let postbox = Arc::new(Postbox::default());
        let notifier = Arc::new(Notifier {
            owner: "here".to_owned(),
            endpoints: postbox.clone(),
            receivers: postbox.clone(),
            bodies: postbox.clone(),
            vault: house.clone(),
            slots: Arc::new(Semaphore::new(1)),
            lease: Duration::from_secs(30),
            clock,
        });
        let doors = Arc::new(Doors {
            archive: shelf.clone(),
            statistics: shelf.clone(),
            registry: house.clone(),
            tokens: house.clone(),
            people: crew.clone(),
            ledger: house.clone(),
            labels_and_replies: drawer.clone(),
            idempotency_keys: drawer.clone(),
            audit: drawer.clone(),
            endpoints: postbox.clone(),
            notifier,
            intake: clerk.clone(),
            mode_switch: clerk.clone(),
            desk: clerk.clone(),
            eraser: clerk.clone(),
            channels: house.clone(),
            vault: house.clone(),
            sandbox,
            health: house.clone(),
            auth: Auth::new(Some(ADMIN), house.clone(), crew.clone(), clock),
            directory: Arc::new(Directory::new(crew.clone(), fetching.clone())),
            count_cache: CountCache::default(),
            fetching,
            sign_in: SignIn::new(crew.clone(), clock),
            site: Site::new(public_url, "10.0.0.1".parse().expect("a network")),
            language: None,
            feed: Feed::open(
                shelf.clone(),
                postbox.clone(),
                nudge.clone(),
                stopping.clone(),
                &Handle::current(),
            ),
            onlookers: Arc::clone(&onlookers),
            cors_origins: vec!["https://crm.example".to_owned()],
            prices: Default::default(),
            time_zone: "UTC".to_owned(),
            settings: Vec::new(),
            settle_ms: 10_000,
            render_metrics: Box::new(|| "baton_up 1\n".to_owned()),
            now: clock,
            main: Handle::current(),
            stopping,
        });
        Self { doors, shelf, house, clerk, crew, nudge, onlookers, album, postbox, drawer }
    }

    /// The response as it comes, its body not yet read.
    async fn open(&self, request: TestRequest) -> ServiceResponse<BoxBody> {
        let app = test::init_service(super::app(self.doors.clone())).await;
        test::call_service(&app, request.to_request()).await
    }

    async fn send(&self, request: TestRequest) -> Reply {
        let response = self.open(request).await;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = to_bytes(response.into_body()).await.expect("a whole body");
        Reply { status, headers, body: String::from_utf8(body.to_vec()).expect("text") }
    }

    /// As the environment's token.
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.send(request(method, path, body).insert_header(("Authorization", format!("Bearer {ADMIN}"))))
            .await
    }

    /// Lets somebody in who is this, on these channels; None: on all.
    fn admit(&self, token: &str, role: Role, agent: Option<Uuid>, channels: Option<&[&str]>) {
        let channels = channels.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let id = Uuid::now_v7();
        if let Some(agent) = agent {
            self.crew.joins(agent, token);
        }
        let kept =
            Token { id, name: token.to_owned(), role, channels, agent, expires_at: None, created_at: NOW };
        self.house.tokens.lock().unwrap().push((kept, hash_of(token)));
    }

    /// As whoever has that token.
    async fn ask_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.send(request(method, path, body).insert_header(("Authorization", format!("Bearer {token}"))))
            .await
    }

    async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, None).await
    }
}

fn request(method: &str, path: &str, body: Option<Value>) -> TestRequest {
    let request = TestRequest::with_uri(path).method(method.parse().expect("a method"));
    match body {
        Some(body) => request.set_json(body),
        None => request,
    }
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// Status and code of a problem, after looking at the rest of it.
    fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.body);
        let problem = self.json();
        let code = problem["code"].as_str().expect("a code");
        assert_eq!(problem["type"], format!("/problems/{code}"));
        assert_eq!(problem["status"], self.status);
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        (self.status, code.to_owned())
    }

    fn pointer(&self) -> String {
        self.json()["errors"][0]["pointer"].as_str().expect("a pointer").to_owned()
    }
}

/// A list of what was asked.
type Log = Mutex<Vec<String>>;
