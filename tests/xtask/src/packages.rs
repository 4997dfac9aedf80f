//! The suite of the packages: lays both out around this system's library and checks what an app's build relies on.
//!
//! Xcode and Gradle are not here, so each check is one of what they do with a package: find a library by the XCFramework's table, read
//! the manifest of a Swift package, unpack an AAR, follow a Maven repository. What only they can say is for `phones.yml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use roxmltree::{Document, Node, ParsingOptions};

use crate::package::{self, ABIS, Options, SLICES, XCFRAMEWORK};
use crate::say;
use crate::setup::{self, Tool};
use crate::swift;
use crate::tally::Tally;

const FOR_LOOKING: [Tool; 1] = [("unzip", "-v", "unzip")];

/// A check of a package: its name, and what it does with the workspace and the folder of the package.
type Check = (&'static str, fn(&Path, &Path) -> anyhow::Result<()>);

const APPLE: [Check; 4] = [
    ("an XCFramework's table leads to its libraries", table),
    ("the zipped XCFramework is the XCFramework", zipped),
    ("the Swift package's manifest can be read", manifest),
    ("the Swift package has all sources and its privacy manifest", sources),
];

const ANDROID: [Check; 4] = [
    ("an AAR has what one has, and nothing else", aar),
    ("the classes of an AAR are those of the bindings", classes),
    ("the rules for the shrinker name classes that are there", rules),
    ("a Maven repository leads to the AAR and what it needs", repository),
];

/// Lays the packages out and runs every check.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    setup::tools(&FOR_LOOKING)?;
    let options = Options { libraries: None, url: None };
    let mut tally = Tally::default();
    for (out, checks) in [(package::apple(root, &options)?, APPLE), (package::android(root, &options)?, ANDROID)] {
        for (name, check) in checks {
            match check(root, &out) {
                Ok(()) => tally.pass(),
                Err(error) => {
                    say(&format!("{name}: {error:#}"));
                    tally.fail(name);
                }
            }
        }
    }
    Ok(tally)
}

fn table(_: &Path, out: &Path) -> anyhow::Result<()> {
    let framework = out.join(XCFRAMEWORK);
    let text = fs::read_to_string(framework.join("Info.plist"))?;
    let plist = property_list(&text)?;
    let libraries = value(dictionary(&plist)?, "AvailableLibraries").context("no libraries")?;
    let mut listed = BTreeSet::new();
    for library in libraries.children().filter(Node::is_element) {
        let word = |key| value(library, key).and_then(|node| node.text()).with_context(|| format!("no {key}"));
        let folder = framework.join(word("LibraryIdentifier")?);
        ensure!(folder.join(word("LibraryPath")?).is_file(), "{} has no library", folder.display());
        let headers = folder.join(word("HeadersPath")?);
        // The module is in a folder of its own: several XCFrameworks of an app put their headers into the same place.
        let module = fs::read_to_string(headers.join("WaggleFFI/module.modulemap"))?;
        ensure!(module.contains(r#"header "WaggleFFI.h""#), "the module has another header");
        ensure!(headers.join("WaggleFFI/WaggleFFI.h").is_file(), "{} has no header", folder.display());
        listed.insert(word("LibraryIdentifier")?.to_owned());
    }
    let slices: BTreeSet<_> = SLICES.iter().map(|slice| slice.identifier.to_owned()).collect();
    let there: BTreeSet<_> = names(&framework)?.into_iter().filter(|name| name != "Info.plist").collect();
    ensure!(listed == slices && there == slices, "listed {listed:?}, there {there:?}");
    Ok(())
}

fn zipped(_: &Path, out: &Path) -> anyhow::Result<()> {
    let archived = archived(&out.join(format!("{XCFRAMEWORK}.zip")))?;
    let there: BTreeSet<_> = files(&out.join(XCFRAMEWORK))?.iter().map(|f| format!("{XCFRAMEWORK}/{f}")).collect();
    ensure!(archived == there, "archived {archived:?}, there {there:?}");
    Ok(())
}

fn manifest(root: &Path, out: &Path) -> anyhow::Result<()> {
    let package = out.join("package");
    let mut said = vec![];
    let folder = package.display().to_string();
    let arguments = ["package", "dump-package"].map(str::to_owned);
    let fine = swift::run(root, &folder, &arguments, |line| said.push(line.to_owned()))?;
    let said = said.join("\n");
    ensure!(fine, "Swift cannot read it:\n{said}");
    for word in [XCFRAMEWORK, "\"binary\"", "WaggleGenerated", "PrivacyInfo.xcprivacy", "\"17.0\"", "\"14.0\""] {
        ensure!(said.contains(word), "{word} is missing in what Swift reads from it:\n{said}");
    }
    Ok(())
}

fn sources(root: &Path, out: &Path) -> anyhow::Result<()> {
    let package = out.join("package");
    for module in ["Waggle", "WaggleFakes", "WaggleGenerated"] {
        let (here, there) = (root.join("bindings/swift/Sources").join(module), package.join("Sources").join(module));
        let (mut here, there) = (files(&here)?, files(&there)?);
        if module == "Waggle" {
            here.insert("PrivacyInfo.xcprivacy".to_owned());
        }
        ensure!(here == there && !here.is_empty(), "{module}: {here:?}, packaged {there:?}");
    }
    ensure!(files(&package.join(XCFRAMEWORK))? == files(&out.join(XCFRAMEWORK))?, "another XCFramework");
    let text = fs::read_to_string(package.join("Sources/Waggle/PrivacyInfo.xcprivacy"))?;
    let plist = property_list(&text)?;
    for key in
        ["NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes", "NSPrivacyAccessedAPITypes"]
    {
        ensure!(value(dictionary(&plist)?, key).is_some(), "no {key}");
    }
    Ok(())
}

fn aar(root: &Path, out: &Path) -> anyhow::Result<()> {
    let mut expected: BTreeSet<_> = ["AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt"]
        .map(str::to_owned)
        .into_iter()
        .chain(ABIS.map(|abi| format!("jni/{abi}/libwaggle_ffi.so")))
        .collect();
    expected.insert("META-INF/com/android/build/gradle/aar-metadata.properties".to_owned());
    let there = archived(&package::archive(out))?;
    ensure!(there == expected, "{there:?}");
    let text = fs::read_to_string(out.join("aar/AndroidManifest.xml"))?;
    let manifest = Document::parse(&text)?;
    let oldest = manifest.descendants().find(|node| node.has_tag_name("uses-sdk"));
    let oldest = oldest.and_then(|node| node.attributes().find(|a| a.name() == "minSdkVersion"));
    let oldest = oldest.context("no oldest Android")?.value();
    let workflow = fs::read_to_string(root.join(".github/workflows/phones.yml"))?;
    ensure!(workflow.contains(&format!("--platform {oldest} ")), "the libraries are built for another Android");
    Ok(())
}

fn classes(_: &Path, out: &Path) -> anyhow::Result<()> {
    let there = archived(&out.join("aar/classes.jar"))?;
    for class in ["org/waggle/WaggleSession.class", "org/waggle/ffi/UniffiLib.class", "META-INF/waggle.kotlin_module"] {
        ensure!(there.contains(class), "no {class}");
    }
    let foreign = |name: &&String| name.ends_with(".class") && !name.starts_with("org/waggle/");
    ensure!(there.iter().find(foreign).is_none(), "{:?} is not ours", there.iter().find(foreign));
    for folder in ["org/waggle/bench/", "org/waggle/support/", "org/waggle/through/", "org/waggle/fakes/"] {
        ensure!(!there.iter().any(|name| name.starts_with(folder)), "{folder} is for tests");
    }
    Ok(())
}

/// Packages whose classes the rules keep are ours, JNA's or the key store's; of ours, there is one.
fn rules(_: &Path, out: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(out.join("aar/proguard.txt"))?;
    let kept: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("-keep class "))
        .filter_map(|rest| rest.split_once(".**").map(|(package, _)| package))
        .collect();
    for package in ["com.sun.jna", "org.waggle.ffi"] {
        ensure!(kept.contains(&package), "{package} is not kept");
    }
    let there = archived(&out.join("aar/classes.jar"))?;
    for package in kept.iter().filter(|package| package.starts_with("org.waggle")) {
        let folder = format!("{}/", package.replace('.', "/"));
        ensure!(there.iter().any(|name| name.starts_with(&folder)), "there is no {package}");
    }
    Ok(())
}

fn repository(root: &Path, out: &Path) -> anyhow::Result<()> {
    let archive = package::archive(out);
    let place = out.join("repository/org/waggle/waggle-android").join(package::version());
    ensure!(archive.parent() == Some(&place), "the AAR is at {}", archive.display());
    let pom = place.join(format!("waggle-android-{}.pom", package::version()));
    let text = fs::read_to_string(&pom).with_context(|| format!("reading {}", pom.display()))?;
    let pom = Document::parse(&text)?;
    let word = |name: &str| child(pom.root_element(), name).and_then(|node| node.text()).unwrap_or_default();
    let named = [word("groupId"), word("artifactId"), word("version"), word("packaging")];
    ensure!(named == ["org.waggle", "waggle-android", package::version(), "aar"], "{named:?}");
    let checksum = fs::read_to_string(place.join(format!("waggle-android-{}.aar.sha256", package::version())))?;
    ensure!(checksum == package::checksum(&archive)?, "another checksum");
    // The classes were compiled against the versions of the build, and need those.
    let text = fs::read_to_string(root.join("bindings/kotlin/reactor.xml"))?;
    let build = Document::parse(&text)?;
    let property = |name: &str| build.descendants().find(|node| node.has_tag_name(name)).and_then(|node| node.text());
    let mut needed = BTreeSet::new();
    for dependency in pom.descendants().filter(|node| node.has_tag_name("dependency")) {
        let word = |name: &str| child(dependency, name).and_then(|node| node.text()).unwrap_or_default();
        let version = match word("artifactId") {
            "kotlin-stdlib" => property("kotlin.version"),
            "kotlinx-coroutines-core" => property("coroutines.version"),
            "jna" => property("jna.version").filter(|_| word("type") == "aar"),
            other => anyhow::bail!("{other} is needed by nothing"),
        };
        ensure!(version == Some(word("version")), "{} of another version", word("artifactId"));
        needed.insert(word("artifactId").to_owned());
    }
    ensure!(needed.len() == 3, "only {needed:?} are named");
    Ok(())
}

/// Names in a folder.
fn names(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            all.extend(files(&path)?.iter().map(|below| format!("{name}/{below}")));
        } else {
            all.insert(name);
        }
    }
    Ok(all)
}

/// All files of an archive; it is whole.
fn archived(archive: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut test = Command::new("unzip");
    test.arg("-tqq").arg(archive);
    setup::quietly(test, &format!("unpacking {}", archive.display()))?;
    let output = Command::new("unzip").arg("-Z1").arg(archive).output().context("starting unzip")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// A property list names its grammar, which is not looked up.
fn property_list(text: &str) -> anyhow::Result<Document<'_>> {
    Ok(Document::parse_with_options(text, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() })?)
}

fn dictionary<'a, 'b>(plist: &'a Document<'b>) -> anyhow::Result<Node<'a, 'b>> {
    child(plist.root_element(), "dict").context("no dictionary")
}

fn child<'a, 'b>(node: Node<'a, 'b>, name: &str) -> Option<Node<'a, 'b>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// What a key of a property list's dictionary has as its value: the element after it.
fn value<'a, 'b>(dictionary: Node<'a, 'b>, key: &str) -> Option<Node<'a, 'b>> {
    let is_key = |node: &Node<'_, '_>| node.has_tag_name("key") && node.text() == Some(key);
    dictionary.children().find(is_key)?.next_sibling_element()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_property_lists() {
        let text =
            "<!DOCTYPE plist PUBLIC \"a\" \"b\"><plist><dict><key>A</key><array/> <key>B</key> <true/></dict></plist>";
        let plist = property_list(text).unwrap();
        let name = |key| value(dictionary(&plist).unwrap(), key).map(|node| node.tag_name().name().to_owned());
        assert_eq!((name("A").as_deref(), name("B").as_deref(), name("C")), (Some("array"), Some("true"), None));
    }

    #[test]
    fn files_of_folders() {
        let folder = std::env::temp_dir().join(format!("waggle-files-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/c"), "").unwrap();
        fs::write(folder.join("d"), "").unwrap();
        assert_eq!(files(&folder).unwrap().into_iter().collect::<Vec<_>>(), ["a/b/c", "d"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
