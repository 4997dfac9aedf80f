//! `cargo xtask package`: what an app's build takes, assembled from built libraries.
//!
//! Apple: an XCFramework of static libraries, with the C module in a folder of its own (several XCFrameworks in one app must not
//! bring a `module.modulemap` to the same place), zipped, and a Swift package that names its checksum and carries the sources and
//! the privacy manifest. Android: an AAR in a Maven repository, with a library per processor, rules for the shrinker, and
//! dependencies.
//!
//! Libraries for phones need Xcode or the NDK: the workflow `phones.yml` builds and hands them in. `--placeholder` lays out the same
//! around this system's own library, in folders that are called so; nothing made of it runs on a phone.
//! A library is refused if it is not of the build that the generated code is for, or, on Android, has pages smaller than 16 KB.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::bindings::{self, Generated};
use crate::kotlin;
use crate::native::{self, Native};
use crate::say;
use crate::setup::{self, Tool};

const FOR_PACKAGES: [Tool; 2] = [("zip", "-v", "zip"), ("readelf", "--version", "binutils")];
const APPLE: &str = "bindings/package/apple";
const ANDROID: &str = "bindings/package/android";
const SWIFT: &str = "bindings/swift/Sources";
pub(crate) const XCFRAMEWORK: &str = "WaggleFFI.xcframework";
/// The largest page of current Android devices.
const PAGE: u64 = 16384;

/// A library of an XCFramework: identifier, processors, and the variant of the platform.
pub(crate) struct Slice {
    pub(crate) identifier: &'static str,
    platform: &'static str,
    variant: Option<&'static str>,
    architectures: &'static [&'static str],
}

pub(crate) const SLICES: [Slice; 3] = [
    Slice { identifier: "ios-arm64", platform: "ios", variant: None, architectures: &["arm64"] },
    Slice {
        identifier: "ios-arm64_x86_64-simulator",
        platform: "ios",
        variant: Some("simulator"),
        architectures: &["arm64", "x86_64"],
    },
    Slice { identifier: "macos-arm64", platform: "macos", variant: None, architectures: &["arm64"] },
];

/// Android's folders of libraries.
pub(crate) const ABIS: [&str; 3] = ["arm64-v8a", "armeabi-v7a", "x86_64"];

/// What is packaged, and from which libraries.
pub(crate) struct Options {
    /// A folder with one folder a slice or processor, each with the library; none for the placeholder.
    pub(crate) libraries: Option<PathBuf>,
    /// Where the zipped XCFramework will be downloaded from; none for a package that carries it.
    pub(crate) url: Option<String>,
}

impl Options {
    /// How hard archives are pressed: a placeholder is large, and nobody downloads it.
    fn effort(&self) -> &'static str {
        if self.libraries.is_some() { "-9" } else { "-1" }
    }
}

/// Assembles what Xcode takes, and says in which folder it is.
pub(crate) fn apple(root: &Path, options: &Options) -> anyhow::Result<PathBuf> {
    let (native, generated, out) = prepare(root, "apple", options)?;
    let placeholder = native.folder.join("libwaggle_ffi.a");
    let library =
        |slice: &str| options.libraries.as_ref().map_or(placeholder.clone(), |f| f.join(slice).join("libwaggle_ffi.a"));
    let framework = out.join(XCFRAMEWORK);
    for slice in &SLICES {
        let library = library(slice.identifier);
        of_this_build(&library, &native.build_id)?;
        let folder = framework.join(slice.identifier);
        let headers = folder.join("Headers/WaggleFFI");
        fs::create_dir_all(&headers)?;
        copy(&library, &folder.join("libwaggle_ffi.a"))?;
        copy(&generated.swift.join("WaggleFFI/WaggleFFI.h"), &headers.join("WaggleFFI.h"))?;
        copy(&root.join(APPLE).join("module.modulemap"), &headers.join("module.modulemap"))?;
    }
    fs::write(framework.join("Info.plist"), information())?;
    let archive = out.join(format!("{XCFRAMEWORK}.zip"));
    zip(&out, &[XCFRAMEWORK], &archive, options.effort())?;
    let checksum = checksum(&archive)?;
    let package = out.join("package");
    fs::create_dir_all(&package)?;
    let binary = match &options.url {
        Some(url) => format!("url: \"{url}\",\n            checksum: \"{checksum}\""),
        None => {
            // The same files under a second name: the libraries are large.
            copy_all(&framework, &package.join(XCFRAMEWORK), &|from, to| Ok(fs::hard_link(from, to)?))?;
            format!("path: \"{XCFRAMEWORK}\"")
        }
    };
    let manifest = fs::read_to_string(root.join(APPLE).join("Package.swift"))?.replace("@BINARY@", &binary);
    fs::write(package.join("Package.swift"), manifest)?;
    for module in ["Waggle", "WaggleFakes", "WaggleGenerated"] {
        copy_all(&root.join(SWIFT).join(module), &package.join("Sources").join(module), &copy)?;
    }
    copy(&root.join(APPLE).join("PrivacyInfo.xcprivacy"), &package.join("Sources/Waggle/PrivacyInfo.xcprivacy"))?;
    say(&format!("{} (checksum {checksum})", archive.display()));
    say(&format!("{}", package.display()));
    Ok(out)
}

/// Assembles what Gradle takes, and says in which folder it is.
pub(crate) fn android(root: &Path, options: &Options) -> anyhow::Result<PathBuf> {
    let (native, _, out) = prepare(root, "android", options)?;
    let classes = kotlin::classes(root, &native)?;
    let aar = out.join("aar");
    for abi in ABIS {
        let library = match &options.libraries {
            Some(folder) => folder.join(abi).join("libwaggle_ffi.so"),
            None => native.library("waggle_ffi")?,
        };
        of_this_build(&library, &native.build_id)?;
        if options.libraries.is_some() && abi != "armeabi-v7a" {
            large_pages(&library)?;
        }
        fs::create_dir_all(aar.join("jni").join(abi))?;
        copy(&library, &aar.join("jni").join(abi).join("libwaggle_ffi.so"))?;
    }
    for name in ["AndroidManifest.xml", "proguard.txt"] {
        copy(&root.join(ANDROID).join(name), &aar.join(name))?;
    }
    fs::write(aar.join("R.txt"), "")?;
    let metadata = aar.join("META-INF/com/android/build/gradle");
    fs::create_dir_all(&metadata)?;
    fs::write(
        metadata.join("aar-metadata.properties"),
        "aarFormatVersion=1.0\naarMetadataVersion=1.0\nminCompileSdk=34\n",
    )?;
    zip(&classes, &["."], &aar.join("classes.jar"), options.effort())?;
    let (version, archive) = (version(), archive(&out));
    let place = archive.parent().context("an archive without a folder")?;
    fs::create_dir_all(place)?;
    zip(&aar, &["."], &archive, options.effort())?;
    let pom = fs::read_to_string(root.join(ANDROID).join("pom.xml"))?.replace("@VERSION@", version);
    fs::write(place.join(format!("waggle-android-{version}.pom")), pom)?;
    fs::write(place.join(format!("waggle-android-{version}.aar.sha256")), checksum(&archive)?)?;
    say(&format!("org.waggle:waggle-android:{version} in {}", out.join("repository").display()));
    Ok(out)
}

/// The AAR in the Maven repository of a folder.
pub(crate) fn archive(out: &Path) -> PathBuf {
    let version = version();
    out.join("repository/org/waggle/waggle-android").join(version).join(format!("waggle-android-{version}.aar"))
}

/// Generates the code and makes an empty folder for the outcome.
fn prepare(root: &Path, kind: &str, options: &Options) -> anyhow::Result<(Native, Generated, PathBuf)> {
    setup::tools(&FOR_PACKAGES)?;
    let native = native::build(root)?;
    let generated = bindings::generate(root, &native)?;
    let name = if options.libraries.is_some() { kind.to_owned() } else { format!("{kind}-placeholder") };
    if options.libraries.is_none() {
        say("placeholder: this system's library stands where a phone's has to be; nothing of it runs on a phone");
    }
    let out = native.target()?.join("package").join(name);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    Ok((native, generated, out))
}

pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The XCFramework's table of contents.
fn information() -> String {
    let mut libraries = String::new();
    for slice in &SLICES {
        let architectures: String = slice.architectures.iter().map(|a| format!("<string>{a}</string>")).collect();
        let variant = slice.variant.map_or(String::new(), |variant| {
            format!("      <key>SupportedPlatformVariant</key>\n      <string>{variant}</string>\n")
        });
        let _ = write!(
            libraries,
            "    <dict>\n      <key>BinaryPath</key>\n      <string>libwaggle_ffi.a</string>\n      <key>HeadersPath</key>\n      \
             <string>Headers</string>\n      <key>LibraryIdentifier</key>\n      <string>{}</string>\n      \
             <key>LibraryPath</key>\n      <string>libwaggle_ffi.a</string>\n      <key>SupportedArchitectures</key>\n      \
             <array>{architectures}</array>\n      <key>SupportedPlatform</key>\n      <string>{}</string>\n{variant}    </dict>\n",
            slice.identifier, slice.platform
        );
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n  \
         <key>AvailableLibraries</key>\n  <array>\n{libraries}  </array>\n  <key>CFBundlePackageType</key>\n  \
         <string>XFWK</string>\n  <key>XCFrameworkFormatVersion</key>\n  <string>1.0</string>\n</dict>\n</plist>\n"
    )
}

/// Refuses a library that was not built from the sources the generated code is for.
fn of_this_build(library: &Path, build_id: &str) -> anyhow::Result<()> {
    let bytes = fs::read(library).with_context(|| format!("reading {}", library.display()))?;
    let id = build_id.as_bytes();
    ensure!(
        bytes.windows(id.len()).any(|window| window == id),
        "{} is not of the build that the generated code is for ({build_id})",
        library.display()
    );
    Ok(())
}

/// Refuses a library that devices with 16 KB pages cannot load.
fn large_pages(library: &Path) -> anyhow::Result<()> {
    let output = Command::new("readelf").arg("-lW").arg(library).output().context("starting readelf")?;
    let alignments = alignments(&String::from_utf8_lossy(&output.stdout));
    ensure!(!alignments.is_empty(), "{} has nothing to load", library.display());
    if let Some(small) = alignments.iter().find(|alignment| *alignment % PAGE != 0) {
        bail!("{} is aligned to pages of {small} bytes, not {PAGE}", library.display());
    }
    Ok(())
}

/// The alignments of the segments to load, from `readelf -lW`: the last column.
fn alignments(headers: &str) -> Vec<u64> {
    let loads = headers.lines().filter(|line| line.trim_start().starts_with("LOAD"));
    let last = loads.filter_map(|line| line.split_whitespace().last()?.strip_prefix("0x"));
    last.filter_map(|digits| u64::from_str_radix(digits, 16).ok()).collect()
}

/// Packs files of a folder. The same files give the same archive: names in order, no owners, one time.
fn zip(folder: &Path, names: &[&str], archive: &Path, effort: &str) -> anyhow::Result<()> {
    let script = "find \"$@\" -type f -exec touch -h -t 202001010000 {} + && find \"$@\" -type f | LC_ALL=C sort | \
                  zip -q -X -D \"$effort\" \"$archive\" -@";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "zip"])
        .args(names)
        .env("archive", archive)
        .env("effort", effort)
        .env("TZ", "UTC")
        .current_dir(folder);
    setup::quietly(command, "zip")
}

/// SHA-256, which is also what Swift's package manager compares.
pub(crate) fn checksum(file: &Path) -> anyhow::Result<String> {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(fs::read(file)?);
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Does so with all files of a folder and of those below it.
fn copy_all(from: &Path, to: &Path, one: &dyn Fn(&Path, &Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let (path, to) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() { copy_all(&path, &to, one)? } else { one(&path, &to)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_names_every_library() {
        let text = information();
        let body = text.split_once("<plist").unwrap().1;
        let document = format!("<plist{body}");
        let plist = roxmltree::Document::parse(&document).unwrap();
        let strings: Vec<_> =
            plist.descendants().filter(|n| n.has_tag_name("string")).filter_map(|n| n.text()).collect();
        for slice in &SLICES {
            assert!(strings.contains(&slice.identifier), "{}", slice.identifier);
        }
        assert_eq!(strings.iter().filter(|text| **text == "simulator").count(), 1);
    }

    #[test]
    fn small_pages_are_seen() {
        let headers = "  LOAD  0x000000 0x0 0x0 0x8998 0x8998 R   0x4000\n  LOAD  0x9 0x0 0x0 0x1 0x1 R E 0x1000\n  NOTE 0x0 0x4\n";
        assert_eq!(alignments(headers), [0x4000, 0x1000]);
    }

    #[test]
    fn another_build_is_refused() {
        let file = std::env::temp_dir().join(format!("waggle-build-{}", std::process::id()));
        fs::write(&file, b"\0\0abc123\0").unwrap();
        assert!(of_this_build(&file, "abc123").is_ok());
        assert!(of_this_build(&file, "abc124").is_err());
        fs::remove_file(&file).unwrap();
        assert!(of_this_build(&file, "abc123").is_err());
    }
}
