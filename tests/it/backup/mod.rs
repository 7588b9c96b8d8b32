//! A backup, made beside a server that goes on, and what is left of it when everything else is lost.

mod load;

mod unfinished;

mod secrets;

mod let_in;

mod refused;

mod memory;

use crate::program::{Program, Server, path_of};

/// Runs each story twice: from either database into the other one.
macro_rules! into_the_other_store {
    ($($name:ident),+ $(,)?) => {
        mod sqlite_to_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let from = $crate::backup::Program::on_sqlite();
                let to = $crate::backup::Program::on_postgres().await;
                super::$name(from, to).await;
            })+
        }
        mod postgres_to_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let from = $crate::backup::Program::on_postgres().await;
                let to = $crate::backup::Program::on_sqlite();
                super::$name(from, to).await;
            })+
        }
    };
}

use into_the_other_store;
