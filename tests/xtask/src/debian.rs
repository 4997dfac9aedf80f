//! A Debian 13 beside the system: what Debian 12 has too old or not at all (Swift, a newer Rust with its sources).
//!
//! The root lies in the cache. It is made under a lock, in a folder that gets its final name when it is whole; each set of
//! packages leaves a mark when it is in. So a run that was interrupted is simply done again, and two at once do not disturb each
//! other. A command runs in namespaces of its own: the work tree is bound there at the very path it has outside, and when the command
//! ends, however it does, the kernel ends what it left running and every mount with it. There is nothing to clean up.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::say;
use crate::setup::{self, Tool};

const RELEASE: &str = "trixie";
const FOLDER: &str = "debian-13";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What making and entering the root needs.
const FOR_DEBIAN: [Tool; 2] = [("debootstrap", "--version", "debootstrap"), ("unshare", "--version", "util-linux")];

/// Mounts and processes of its own: both end with the command.
const NAMESPACE: [&str; 6] = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];

/// Variables of the outside that a command inside still needs: the way to the network, and what tests are told.
const HANDED_IN: [&str; 7] =
    ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "RUST_BACKTRACE"];

/// Mounts what the command needs and becomes it. Arguments: root, folder, then pairs of mode and path up to `--`, the command.
const ENTER: &str = r#"
set -eu
root=$1 folder=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  [ -d "$2" ] && mkdir -p "$root$2" || { mkdir -p "$root$(dirname "$2")"; [ -e "$root$2" ] || : > "$root$2"; }
  case $1 in
    rw) mount --rbind "$2" "$root$2" ;;
    ro) mount --bind -o ro "$2" "$root$2" ;;
  esac
  shift 2
done
shift
exec chroot "$root" /usr/bin/env -i --chdir="$folder" "$@"
"#;

/// Packages that belong together, and from where.
pub(crate) struct Packages {
    /// A short name for messages and for the mark.
    pub(crate) name: &'static str,
    pub(crate) packages: &'static [&'static str],
    /// Whether they come from the release's backports.
    pub(crate) backports: bool,
}

/// The root, with what was asked for in it.
pub(crate) struct Debian {
    root: PathBuf,
}

impl Debian {
    /// Makes the root if there is none, and installs the packages if they are not in it.
    pub(crate) fn with(packages: &Packages) -> anyhow::Result<Self> {
        let _one_at_a_time = setup::lock(FOLDER)?;
        let debian = Self { root: setup::cache()?.join(FOLDER) };
        if !debian.root.is_dir() {
            debian.make().context("Debian 13, which brings what this system lacks, could not be set up")?;
        }
        let mark = debian.root.join(format!("var/lib/waggle-{}", packages.name.replace(' ', "-")));
        let wanted = packages.packages.join(" ");
        if fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
            return Ok(debian);
        }
        say(&format!("installing {} in Debian 13 (once; a minute)", packages.name));
        debian.install(packages).with_context(|| format!("{wanted} could not be installed in Debian 13"))?;
        fs::write(&mark, wanted)?;
        Ok(debian)
    }

    fn make(&self) -> anyhow::Result<()> {
        if !setup::works("apt-get", &["--version"]) || !setup::works("test", &["-w", "/etc"]) {
            bail!("this needs a Debian system and its root user; or install the tool yourself and put it on the path");
        }
        setup::tools(&FOR_DEBIAN)?;
        if !setup::works("unshare", &[&NAMESPACE[..], &["true"]].concat()) {
            bail!("this user may not mount anything (CAP_SYS_ADMIN is missing, as in an unprivileged container)");
        }
        say("setting up Debian 13 beside the system (once; a minute)");
        let unfinished = self.root.with_extension("part");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).context("removing what an interrupted run left")?;
        }
        let mut command = Command::new("debootstrap");
        command.args(["--variant=minbase", RELEASE]).arg(&unfinished);
        setup::quietly(command, "debootstrap")?;
        fs::rename(&unfinished, &self.root)?;
        Ok(())
    }

    fn install(&self, packages: &Packages) -> anyhow::Result<()> {
        let apt = |arguments: &[&str]| {
            let mut command = self.command(Path::new("/"), &[]);
            command.arg("DEBIAN_FRONTEND=noninteractive").args(["apt-get", "-qq"]).args(arguments);
            setup::quietly(command, &format!("apt-get {}", arguments.join(" ")))
        };
        let mut repair = self.command(Path::new("/"), &[]);
        repair.args(["DEBIAN_FRONTEND=noninteractive", "dpkg", "--configure", "-a"]);
        setup::quietly(repair, "dpkg --configure -a")?;
        let mut install = vec!["install", "--yes", "--no-install-recommends"];
        if packages.backports {
            self.add_backports()?;
            install.push("--target-release=trixie-backports");
        }
        install.extend(packages.packages);
        apt(&["update"])?;
        apt(&install)?;
        apt(&["clean"])
    }

    /// Backports come from the mirror the root itself was made from.
    fn add_backports(&self) -> anyhow::Result<()> {
        let sources = fs::read_to_string(self.root.join("etc/apt/sources.list"))?;
        let line = sources.lines().find(|line| line.starts_with("deb ")).context("the root has no package source")?;
        let line = line.replace(&format!(" {RELEASE} "), &format!(" {RELEASE}-backports "));
        fs::write(self.root.join("etc/apt/sources.list.d/backports.list"), line + "\n")?;
        Ok(())
    }

    /// A command inside, in this folder, with these paths of the outside bound at the same place. What is added to it first are
    /// variables (`NAME=value`), then the program and its arguments.
    pub(crate) fn command(&self, folder: &Path, writable: &[&Path]) -> Command {
        let mut command = Command::new("unshare");
        command.args(NAMESPACE).args(["sh", "-c", ENTER, "enter"]);
        command.arg(&self.root).arg(folder);
        for path in ["/etc/resolv.conf", "/etc/ssl/certs"].map(Path::new).into_iter().filter(|path| path.exists()) {
            command.arg("ro").arg(path);
        }
        for path in writable {
            command.arg("rw").arg(path);
        }
        command.arg("--").arg(format!("PATH={PATH}")).args(["HOME=/root", "LANG=C.UTF-8"]);
        for name in HANDED_IN {
            if let Some(value) = std::env::var_os(name) {
                let mut pair = OsString::from(format!("{name}="));
                pair.push(value);
                command.arg(pair);
            }
        }
        command
    }
}
