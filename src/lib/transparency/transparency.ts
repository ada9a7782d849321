/**
 * A transparency log: evidence that a sequence of texts was only ever appended to.
 *
 * - Trees (RFC 9162): `leafHash` and `nodeHash`, roots, proofs that a leaf is included, proofs that a later tree
 *   contains an earlier one. A `CompactRange` grows a tree without its leaves.
 * - Checkpoints (C2SP tlog-checkpoint): size and root of a tree in a signed note. `createSigner` signs as the log,
 *   `createCosigner` as a witness, with Ed25519 or ML-DSA-44.
 * - Witnesses (C2SP tlog-witness): `addCheckpointBody` is the request of a log, `readRequest` and `problemWith` are the
 *   decision of a witness.
 * - Policies (C2SP tlog-policy): which logs and witnesses are known, and how many cosignatures a checkpoint needs.
 * - Content proofs: a root over the salted parts of a content, so that one part can be disclosed without the others.
 * - Canonical JSON (RFC 8785): equal values have equal texts, so that they can be hashed.
 *
 * Everything here is pure and bounded by the length of its input. Malformed notes and policies throw `MalformedNote`
 * and `MalformedPolicy` with a sentence for people; a proof that does not hold is `false`, never an error.
 */
export {
  type ContentPart,
  canonicalJson,
  hasHalfPair,
  partHash,
  partLeaf,
  quoted,
  rootOfPart,
  rootOfParts,
  SALT_BYTES,
  type SaltedPart,
  saltOf,
} from './content-proof.ts';
export {
  type CompactRange,
  completeRoots,
  consistencyRanges,
  EMPTY_RANGE,
  EMPTY_ROOT,
  extended,
  HASH_BYTES,
  inclusionRanges,
  isConsistent,
  joined,
  leafHash,
  nodeHash,
  type Range,
  rootOfComplete,
  rootOfInclusion,
  rootOfLeaves,
  type Subtree,
  subtreesOf,
} from './merkle-tree.ts';
export {
  type Checkpoint,
  checkpointText,
  createCosigner,
  createSigner,
  MalformedNote,
  MalformedPolicy,
  ML_DSA_44,
  meetsQuorum,
  NO_POLICY,
  type Note,
  type Policy,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  parseVerifierKey,
  policyText,
  type Signer,
  signatoryOf,
  signedAt,
  signedNote,
  type VerifierKey,
} from './signed-note.ts';
export {
  ADD_CHECKPOINT,
  type Answer,
  addCheckpointBody,
  type CosignRequest,
  problemWith,
  REQUEST_BYTES_MAX,
  readRequest,
  SIZE_MEDIA_TYPE,
  sizeInConflict,
} from './tlog-witness.ts';
