// Runs in the Maven module `androidx` before it compiles: makes one Java module of what a Gradle build would take from AARs.
//
// `deps` holds the AARs and jars that Maven fetched. Their classes are merged into `classes`; their resources and the app's are compiled and
// linked by Debian's aapt2 into `app.ap_`, and the R classes written to `r`. `test_config.properties` tells Robolectric where resources and
// manifest are. The manifest gets what Gradle adds to it: the package, and the activity that Compose's tests start. Manifests of libraries are
// not merged, so what a library starts by itself does not run here.

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

class PrepareAndroid {
    private static final Pattern PACKAGE = Pattern.compile("package=\"([^\"]+)\"");
    private static final String TEST_ACTIVITY =
            "<activity android:name=\"androidx.activity.ComponentActivity\" android:exported=\"true\"/>\n    </application>";

    private final Path target;
    private final Path app;
    private final String appPackage;
    private final String aapt2;
    private final Path framework;
    private final Path classes;
    private final TreeSet<String> packages = new TreeSet<>();
    private final List<Path> compiled = new ArrayList<>();

    private PrepareAndroid(String[] args) {
        target = Path.of(args[0]);
        app = Path.of(args[1]);
        appPackage = args[2];
        aapt2 = args[3];
        framework = Path.of(args[4]);
        classes = target.resolve("classes");
    }

    public static void main(String[] args) throws Exception {
        new PrepareAndroid(args).run();
    }

    private void run() throws Exception {
        for (String folder : List.of("aar", "flat", "r")) {
            delete(target.resolve(folder));
            Files.createDirectories(target.resolve(folder));
        }
        Files.createDirectories(classes);
        for (Path dependency : list(target.resolve("deps"))) {
            if (dependency.toString().endsWith(".aar")) library(dependency);
            else merge(dependency);
        }
        compile(app.resolve("res"), "zz-app");
        link(manifest());
        System.out.println(compiled.size() + " folders of resources, " + packages.size() + " R classes");
    }

    /** Takes the classes of an AAR in and compiles its resources. */
    private void library(Path aar) throws Exception {
        String name = aar.getFileName().toString().replace(".aar", "");
        Path folder = target.resolve("aar").resolve(name);
        unzip(Files.newInputStream(aar), folder, entry -> entry.startsWith("res/") || entry.startsWith("libs/")
                || List.of("classes.jar", "R.txt", "AndroidManifest.xml").contains(entry));
        if (Files.exists(folder.resolve("classes.jar"))) merge(folder.resolve("classes.jar"));
        if (Files.exists(folder.resolve("libs"))) {
            for (Path jar : list(folder.resolve("libs"))) merge(jar);
        }
        Path ids = folder.resolve("R.txt");
        if (Files.exists(ids) && Files.size(ids) > 0) {
            var found = PACKAGE.matcher(Files.readString(folder.resolve("AndroidManifest.xml")));
            if (found.find()) packages.add(found.group(1));
        }
        if (Files.exists(folder.resolve("res"))) compile(folder.resolve("res"), name);
    }

    private void merge(Path jar) throws IOException {
        unzip(Files.newInputStream(jar), classes, entry -> !entry.equals("META-INF/MANIFEST.MF"));
    }

    private Path manifest() throws IOException {
        String text = Files.readString(app.resolve("AndroidManifest.xml"))
                .replaceFirst("<manifest ", "<manifest package=\"" + appPackage + "\" ")
                .replace("android:name=\".", "android:name=\"" + appPackage + ".")
                .replace("</application>", TEST_ACTIVITY);
        return Files.writeString(target.resolve("AndroidManifest.xml"), text);
    }

    private void compile(Path resources, String name) throws Exception {
        Path out = target.resolve("flat").resolve(name + ".flata");
        aapt2(List.of("compile", "--dir", resources.toString(), "-o", out.toString()));
        compiled.add(out);
    }

    private void link(Path manifest) throws Exception {
        Path out = target.resolve("app.ap_");
        List<String> arguments = new ArrayList<>(List.of("link", "-I", framework.toString(), "--manifest", manifest.toString(),
                "-o", out.toString(), "--java", target.resolve("r").toString(), "--extra-packages", String.join(":", packages),
                "--auto-add-overlay", "--min-sdk-version", "26", "--target-sdk-version", "35"));
        for (Path one : compiled) arguments.addAll(List.of("-R", one.toString()));
        aapt2(arguments);
        Path config = classes.resolve("com/android/tools");
        Files.createDirectories(config);
        Files.writeString(config.resolve("test_config.properties"), "android_custom_package=" + appPackage
                + "\nandroid_merged_manifest=" + manifest + "\nandroid_resource_apk=" + out + "\n");
    }

    private void aapt2(List<String> arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(aapt2));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        // It warns of parts of newer frameworks that it does not know; what it says matters when it fails.
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) throw new IOException("aapt2 " + arguments.get(0) + " failed:\n" + said);
    }

    private static void unzip(InputStream from, Path folder, java.util.function.Predicate<String> wanted) throws IOException {
        try (ZipInputStream zip = new ZipInputStream(from)) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (entry.isDirectory() || !wanted.test(entry.getName())) continue;
                Path out = folder.resolve(entry.getName()).normalize();
                if (!out.startsWith(folder)) throw new IOException("an entry outside its folder");
                Files.createDirectories(out.getParent());
                Files.copy(zip, out, StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> paths = Files.list(folder)) {
            return paths.sorted().toList();
        }
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) return;
        try (Stream<Path> paths = Files.walk(folder)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> {
                try {
                    Files.delete(path);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }
}
