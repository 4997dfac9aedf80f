//! Work for the holder of the account's key: decrypting and sealing what the account writes to itself.

use std::sync::Arc;

use super::blocking::Blocking;
use crate::directory::mutes;
use crate::error::Error;
use crate::event::Verifier;
use crate::identity::{Signer, Unsigned};
use crate::read_state::{CryptoJob, CryptoResult, JobId, Unreadable};

/// Runs a read-state job.
pub(super) async fn read_state(
    job: CryptoJob,
    signer: Arc<dyn Signer>,
    verifier: Arc<Verifier>,
    server_time: u64,
    blocking: Blocking,
) -> (JobId, CryptoResult) {
    match job {
        CryptoJob::Decode(job) => {
            let id = job.id;
            let cipher = signer.self_cipher();
            let failed = job.finish(std::iter::empty());
            let decode = move || {
                let plain = |content: &str| match &cipher {
                    Some(cipher) => Ok(cipher.decrypt(content)?.into_bytes()),
                    None => Err(Unreadable::Signer),
                };
                job.finish(job.events.iter().map(|e| plain(&e.content)).collect::<Vec<_>>())
            };
            (id, blocking.run(decode).await.unwrap_or(failed))
        }
        CryptoJob::Seal(job) => {
            let (slot, plaintext, nonce, created_at) = (job.slot, job.plaintext, job.nonce, job.created_at);
            let unsigned = Unsigned::ReadState { slot, plaintext, nonce, created_at };
            let sealed = seal(unsigned, &*signer, &verifier, server_time).await;
            (job.id, CryptoResult::Sealed(sealed))
        }
    }
}

/// Runs a job of the mute preference.
pub(super) async fn mutes(
    job: mutes::Job,
    signer: Arc<dyn Signer>,
    verifier: Arc<Verifier>,
    server_time: u64,
    nonce: [u8; 32],
) -> (mutes::JobId, mutes::JobResult) {
    match job {
        mutes::Job::Decrypt { id, ciphertext } => {
            let plain = match signer.self_cipher() {
                Some(cipher) => cipher.decrypt(&ciphertext),
                None => Err(Error::ReadOnly),
            };
            (id, plain.map_or_else(mutes::JobResult::Failed, mutes::JobResult::Plaintext))
        }
        mutes::Job::EncryptAndSign { id, created_at, plaintext, .. } => {
            let unsigned = Unsigned::Mutes { plaintext, nonce, created_at };
            let sealed = seal(unsigned, &*signer, &verifier, server_time).await;
            (id, sealed.map_or_else(mutes::JobResult::Failed, mutes::JobResult::Signed))
        }
    }
}

/// Has something encrypted and signed, and checks what came back.
async fn seal(
    unsigned: Unsigned,
    signer: &dyn Signer,
    verifier: &Verifier,
    server_time: u64,
) -> Result<crate::event::SharedEvent, Error> {
    let signed = signer.sign(unsigned, server_time).await?;
    verifier.event(&signed.json).map_err(|_| Error::InvalidAnswer { why: "signer" })
}
