//! SQLite's files as the journal uses them, counted and made to fail.
//!
//! A VFS in front of the platform's own: it lets that open a file and then puts its own functions into the file's table for what
//! lasts, that is writing, cutting and syncing. Everything else, locks above all, is the platform's. It becomes the default one, so
//! the code under test is opened through it unchanged. Counters are of the process: tests that use it take [`Disk`], one at a time.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

use rusqlite::ffi;

static BYTES: AtomicU64 = AtomicU64::new(0);
static SYNCS: AtomicU64 = AtomicU64::new(0);
/// Effects until the next one that fails; negative: none does.
static LEFT: AtomicI64 = AtomicI64::new(-1);
/// Whether all later ones fail as well.
static FOREVER: AtomicI64 = AtomicI64::new(0);
/// With what.
static CODE: AtomicI64 = AtomicI64::new(0);

type Write = unsafe extern "C" fn(*mut ffi::sqlite3_file, *const c_void, c_int, ffi::sqlite3_int64) -> c_int;
type Truncate = unsafe extern "C" fn(*mut ffi::sqlite3_file, ffi::sqlite3_int64) -> c_int;
type Sync = unsafe extern "C" fn(*mut ffi::sqlite3_file, c_int) -> c_int;
type Open =
    unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *const c_char, *mut ffi::sqlite3_file, c_int, *mut c_int) -> c_int;

/// The platform's functions. All of its tables share these.
static WRITE: OnceLock<Write> = OnceLock::new();
static TRUNCATE: OnceLock<Truncate> = OnceLock::new();
static SYNC: OnceLock<Sync> = OnceLock::new();
static OPEN: OnceLock<Open> = OnceLock::new();

/// Counts one effect; the code it must fail with, if it must.
fn effect() -> Option<c_int> {
    let left = LEFT.fetch_sub(1, Ordering::SeqCst);
    let code = c_int::try_from(CODE.load(Ordering::SeqCst)).unwrap();
    (left == 0 || (left < 0 && FOREVER.load(Ordering::SeqCst) == 1)).then_some(code)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    count: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    if let Some(code) = effect() {
        return code;
    }
    BYTES.fetch_add(u64::try_from(count).unwrap(), Ordering::SeqCst);
    // SAFETY: SQLite's arguments, passed on to the function they are meant for.
    unsafe { WRITE.get().unwrap()(file, from, count, at) }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    if effect().is_some() {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    // SAFETY: as above.
    unsafe { TRUNCATE.get().unwrap()(file, size) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    if effect().is_some() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    SYNCS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { SYNC.get().unwrap()(file, flags) }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: as above; after a successful call the file has a table, which is copied and lives for ever.
    unsafe {
        let code = OPEN.get().unwrap()(vfs, name, file, flags, out);
        if code == ffi::SQLITE_OK && !(*file).pMethods.is_null() {
            let mut table = *(*file).pMethods;
            WRITE.get_or_init(|| table.xWrite.unwrap());
            TRUNCATE.get_or_init(|| table.xTruncate.unwrap());
            SYNC.get_or_init(|| table.xSync.unwrap());
            table.xWrite = Some(write);
            table.xTruncate = Some(truncate);
            table.xSync = Some(sync);
            (*file).pMethods = Box::leak(Box::new(table));
        }
        code
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the default VFS is there as long as the process is, and so is the copy that is registered.
        unsafe {
            let mut vfs = *ffi::sqlite3_vfs_find(std::ptr::null());
            OPEN.get_or_init(|| vfs.xOpen.unwrap());
            vfs.xOpen = Some(open);
            vfs.zName = c"counted".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 1), ffi::SQLITE_OK);
        }
    });
}

/// The right to count and to break.
pub(crate) struct Disk(#[expect(dead_code, reason = "only held")] MutexGuard<'static, ()>);

/// What was done to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) syncs: u64,
}

impl Disk {
    pub(crate) fn take() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        install();
        let disk = Self(guard);
        disk.mend();
        disk
    }

    pub(crate) fn measure<R>(&self, what: impl FnOnce() -> R) -> (R, Written) {
        let before = (BYTES.load(Ordering::SeqCst), SYNCS.load(Ordering::SeqCst));
        let result = what();
        let after = (BYTES.load(Ordering::SeqCst), SYNCS.load(Ordering::SeqCst));
        (result, Written { bytes: after.0 - before.0, syncs: after.1 - before.1 })
    }

    /// After `skip` more effects one fails with this code, or all from there on. Cutting and syncing fail with their own.
    pub(crate) fn fail(&self, skip: u32, forever: bool, code: c_int) {
        CODE.store(code.into(), Ordering::SeqCst);
        FOREVER.store(forever.into(), Ordering::SeqCst);
        LEFT.store(skip.into(), Ordering::SeqCst);
    }

    /// Nothing fails any more; whether something did.
    pub(crate) fn mend(&self) -> bool {
        FOREVER.store(0, Ordering::SeqCst);
        let failed = LEFT.swap(-1, Ordering::SeqCst) < 0 && CODE.load(Ordering::SeqCst) != 0;
        CODE.store(0, Ordering::SeqCst);
        failed
    }
}
