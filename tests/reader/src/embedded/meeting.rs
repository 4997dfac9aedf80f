//! How readers on one machine find the same embedded relay: a small file in the temporary directory.
//!
//! The file names the relay's host and port, its public key and the run it belongs to. It is believed only when a relay with that key answers
//! there, so a file left behind by a reader that was killed does no harm; the next reader replaces it.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest wait for the relay a file names.
const ANSWER: Duration = Duration::from_secs(2);
/// Bytes read of its discovery document.
const DOCUMENT: u64 = 16 << 10;

/// A relay that another reader serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// Host and port.
    pub host: String,
    /// The relay's public key, 64 hex digits.
    pub relay: String,
    /// Name of the run, which its data directory is named after.
    pub run: String,
    /// The viewer's key as people paste it. It is public knowledge.
    pub viewer: String,
}

/// Where the file of a user is.
pub fn file() -> PathBuf {
    let user = std::env::var("USER").or_else(|_| std::env::var("USERNAME")).unwrap_or_default();
    let user: String = user.chars().filter(char::is_ascii_alphanumeric).collect();
    std::env::temp_dir().join(format!("waggle-reader-{user}.relay"))
}

/// Where the devices of a run keep their files.
pub fn data_dir(run: &str) -> PathBuf {
    std::env::temp_dir().join(format!("waggle-reader-{run}"))
}

impl Meeting {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (host, relay, run, viewer) = (lines.next()?, lines.next()?, lines.next()?, lines.next()?);
        let plain = |s: &str| !s.is_empty() && s.len() <= 64 && s.chars().all(|c| c.is_ascii_alphanumeric());
        let port = host.strip_prefix("127.0.0.1:")?;
        (plain(relay) && plain(run) && plain(viewer) && port.parse::<u16>().is_ok()).then(|| Self {
            host: host.to_owned(),
            relay: relay.to_owned(),
            run: run.to_owned(),
            viewer: viewer.to_owned(),
        })
    }

    /// Leaves word for other readers.
    pub fn write(&self) -> std::io::Result<()> {
        std::fs::write(file(), format!("{}\n{}\n{}\n{}\n", self.host, self.relay, self.run, self.viewer))
    }

    /// Takes the word back, if it is still this one.
    pub fn remove(&self) {
        let ours = std::fs::read_to_string(file()).ok().and_then(|t| Self::parse(&t)).as_ref() == Some(self);
        if ours {
            // A file that stays is not believed.
            let _ = std::fs::remove_file(file());
        }
    }

    /// The relay of a reader that runs now, if there is one.
    pub async fn find() -> Option<Self> {
        let meeting = Self::parse(&std::fs::read_to_string(file()).ok()?)?;
        let document = tokio::time::timeout(ANSWER, meeting.document()).await.ok()?.ok()?;
        document.contains(&meeting.relay).then_some(meeting)
    }

    /// The discovery document of whoever listens there, as text.
    async fn document(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.host).await?;
        let ask = format!(
            "GET / HTTP/1.1\r\nHost: {}\r\nAccept: application/nostr+json\r\nConnection: close\r\n\r\n",
            self.host
        );
        stream.write_all(ask.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(DOCUMENT).read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_loopback_word_is_believed() {
        let good = "127.0.0.1:7447\nabc\nrun1\nnsec1x\n";
        assert!(Meeting::parse(good).is_some());
        for bad in [
            "",
            "127.0.0.1:7447\nabc\n",
            "example.org:1\nabc\nrun\nnsec\n",
            "127.0.0.1:x\nabc\nrun\nnsec\n",
            "127.0.0.1:1\nabc\n../up\nnsec\n",
        ] {
            assert_eq!(Meeting::parse(bad), None, "{bad}");
        }
    }
}
