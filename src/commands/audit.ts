import { type AuditKey, type AuditLog, auditLog } from '../domain/audit/audit.ts';
import { isSealed, rootOf } from '../domain/audit/leaf.ts';
import { fold } from '../domain/kernel/aggregate.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { type RecordedEvent, WrongExpectedRevision } from '../domain/kernel/event-store.ts';
import type { AuditEvent } from '../domain/kernel/events.ts';
import { auditStream } from '../domain/kernel/streams.ts';
import type { AuditTrees, StoredState } from '../domain/ports/requests.ts';
import {
  checkpointText,
  createSigner,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  type Signer,
  signatoryOf,
  signedNote,
} from '../lib/transparency/transparency.ts';
import {
  type CommandContext,
  eventContext,
  internalOrigin,
  type LoadedStream,
  type Origin,
  retryConflicts,
} from './execute.ts';
import { readStream } from './foreign-events.ts';

export type AuditContext = Pick<CommandContext, 'store' | 'system' | 'secrets'>;

/** The tree lacks events that were signed. Signing stops until the operator has found the reason. */
export class LogContradiction extends Error {
  override readonly name = 'LogContradiction';
}

const SEED_BYTES = 32;
/** The end of a stream nearly always says all. */
const END_EVENTS = 10;

/** The end of a tree's stream from the last matching event, so that years of checkpoints are not read. @returns the whole stream if no event matches. */
const auditLogSince = async (
  { store }: Pick<AuditContext, 'store'>,
  tree: string,
  begins: (event: RecordedEvent) => boolean,
): Promise<readonly RecordedEvent[]> => {
  const stream = auditStream(tree);
  const events: RecordedEvent[] = [];
  for (let before: number | undefined; before !== 0; before = events[0]?.revision ?? 0) {
    const from = before === undefined ? {} : { from: before - 1 };
    const page = await readStream(store, stream, { direction: 'backwards', limit: END_EVENTS, ...from });
    events.unshift(...page.toReversed());
    if (page.some(begins)) break;
  }
  return events;
};

/** State of a tree's stream, by the end of it in which the last checkpoint is. */
const auditLogAt = (events: readonly RecordedEvent[]): LoadedStream<AuditLog> => ({
  state: fold(auditLog, events),
  revision: events.at(-1)?.revision ?? 'no-stream',
});

export const loadAuditLog = async (
  context: Pick<AuditContext, 'store'>,
  tree: string,
): Promise<LoadedStream<AuditLog>> =>
  auditLogAt(await auditLogSince(context, tree, ({ type }) => type === 'CheckpointSigned'));

/** Options for signing a checkpoint. */
interface SignCheckpoint {
  readonly tree: string;
  readonly trees: Pick<AuditTrees, 'root' | 'state'>;
  /** Host of this service's URL. It begins the origin of a tree that was never signed. */
  readonly host: string;
  /** Absent: the service signs automatically. */
  readonly origin?: Origin;
  /**
   * Signs only if the last checkpoint is about fewer leaves. The read model may not have that checkpoint yet, or have it
   * by the time its size is read. Absent: checkpoints are a reason for another, too.
   */
  readonly grownTo?: number;
}

/** A key of a tree, the private half in the vault. */
const newKey = async ({ secrets, system }: AuditContext, organizationId: string, origin: string): Promise<AuditKey> => {
  const seed = system.randomBytes(SEED_BYTES);
  const secretId = system.uuid();
  await secrets.put(secretId, organizationId, Buffer.from(seed).toString('base64'));
  return { secretId, vkey: createSigner(origin, seed).verifierKey.text };
};

const signerOf = async ({ secrets }: AuditContext, { secretId, vkey }: AuditKey): Promise<Signer> => {
  const { name } = parseVerifierKey(vkey); // the origin before, if the log was reopened
  const seed = await secrets.get(secretId);
  if (seed === undefined) throw new LogContradiction(`the signing key of ${name} is not in the vault`);
  return createSigner(name, Buffer.from(seed, 'base64'));
};

/** @throws {Contradicted} */
const requireUndisputed = ({ tree }: SignCheckpoint, { dispute }: AuditLog): void => {
  if (dispute === null) return;
  throw new LogContradiction(
    `the witness ${dispute.witness} has cosigned ${dispute.cosignedSize} leaves of ${tree} that the log does not ` +
      'continue: it was restored from an older copy, or changed. See `outbox audit reopen`',
  );
};

/** @throws {Contradicted} */
const requireConsistent = async ({ trees, tree }: SignCheckpoint, size: number, { last }: AuditLog): Promise<void> => {
  if (last === null) return;
  if (size < last.size) {
    throw new LogContradiction(
      `the tree of ${tree} has ${size} leaves, and ${last.size} were signed: the log was restored`,
    );
  }
  const root = await trees.root(tree, last.size);
  if (root.toString('base64') !== last.root) {
    throw new LogContradiction(
      `the first ${last.size} leaves of ${tree} are not those that were signed: the log was changed`,
    );
  }
};

/** @throws {Contradicted} */
const requireOwn = ({ tree, foreignEvent }: StoredState): void => {
  if (foreignEvent === null) return;
  throw new LogContradiction(
    `this service did not write event ${foreignEvent} of ${tree}: it was inserted or changed in the database. ` +
      'See docs/audit.md, Foreign events',
  );
};

/**
 * The tables still have the leaves that the projection read from the log.
 * @returns their root. @throws {Contradicted}
 */
const requireRead = async (
  { store }: Pick<AuditContext, 'store'>,
  { trees, tree }: SignCheckpoint,
  state: StoredState,
): Promise<Buffer> => {
  const root = await trees.root(tree, state.size);
  const { seals } = store;
  if (seals === undefined || (isSealed(state, seals) && root.equals(rootOf(state)))) return root;
  throw new LogContradiction(
    `the tables of the audit tree of ${tree} do not have the ${state.size} leaves that were read from the log: they were ` +
      'changed in the database. Run `outbox audit check`, keep a copy of the database, then run `outbox projections rebuild audit`',
  );
};

/** Organization of the events about a tree; empty for the service's own tree. */
const organizationOf = (tree: string): string => (tree === 'service' ? '' : tree);

/** @returns false if another writer has appended since it was loaded. */
const appendToAuditLog = async (
  { store, system }: AuditContext,
  tree: string,
  { revision }: LoadedStream<AuditLog>,
  { events, origin }: { readonly events: readonly AuditEvent[]; readonly origin: Origin },
): Promise<boolean> => {
  try {
    await store.append({
      stream: auditStream(tree),
      expected: revision,
      events: events.map((event) => ({ ...event, id: system.uuid() })),
      context: eventContext(origin, system.now().toISOString()),
    });
    return true;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return false;
    throw error;
  }
};

const workerOrigin = (tree: string): Origin =>
  internalOrigin({ actor: 'worker:sign-checkpoints', organizationId: organizationOf(tree), causeId: tree });

/** Whether the last checkpoint is about all that calls for one. A tree that is shorter is not covered: it was restored. */
const isCovered = (size: number, { grownTo = size }: SignCheckpoint, { last }: AuditLog): boolean =>
  last !== null && last.size <= size && last.size >= grownTo;

/** @returns what there is to sign; null: nothing, or the tree is being rebuilt. @throws {Contradicted} */
const unsignedPart = async (
  context: AuditContext,
  command: SignCheckpoint,
  state: AuditLog,
): Promise<{ readonly size: number; readonly root: Buffer } | null> => {
  requireUndisputed(command, state);
  const stored = await command.trees.state(command.tree);
  if (stored === null || (stored.isOutdated && context.store.seals !== undefined)) return null;
  const { size } = stored;
  if (size === 0 || isCovered(size, command, state)) return null;
  await requireConsistent(command, size, state);
  requireOwn(stored);
  return { size, root: await requireRead(context, command, stored) };
};

/**
 * Signs the current tree unless it was signed already. A checkpoint is released only after it has been appended to the log.
 * @throws {Contradicted}
 */
export const signCheckpoint = async (context: AuditContext, command: SignCheckpoint): Promise<void> => {
  const { tree, host } = command;
  const loaded = await loadAuditLog(context, tree);
  const { state } = loaded;
  const part = await unsignedPart(context, command, state);
  if (part === null) return;
  const { size, root } = part;
  const organizationId = organizationOf(tree);
  const origin = state.signing?.origin ?? `${host}/v1/audit/tlog/${tree}`;
  const key = state.signing?.key ?? (await newKey(context, organizationId, origin));
  const keys = state.former === null ? [key] : [state.former, key];
  const text = checkpointText({ origin, size, root });
  const signers = await Promise.all(keys.map((one) => signerOf(context, one)));
  const note = signedNote(
    text,
    signers.map((signer) => signer.signatureLine(text)),
  );
  const events: AuditEvent[] = [
    { type: 'CheckpointSigned', data: { organizationId, origin, size, root: root.toString('base64'), note, ...key } },
  ];
  if (state.signing === null) events.unshift({ type: 'AuditKeyAdded', data: { organizationId, origin, ...key } });
  if (state.former !== null) {
    events.push({ type: 'AuditKeyRetired', data: { organizationId, vkey: state.former.vkey } });
  }
  await appendToAuditLog(context, tree, loaded, { events, origin: command.origin ?? workerOrigin(tree) });
};

/**
 * Replaces a tree's signing key. Both keys sign the next checkpoint, so that verifiers who trust the old key can trust the
 * new one. Later checkpoints are signed by the new key only.
 * @returns the new key. @throws {DomainError} `not_found`: nothing has been signed yet; `resource_conflict`.
 */
export const rotateAuditKey = (context: AuditContext, origin: Origin, tree: string): Promise<string> =>
  retryConflicts(async () => {
    const loaded = await loadAuditLog(context, tree);
    const { signing, former } = loaded.state;
    if (signing === null)
      throw new DomainError('not_found', 'nothing has been signed yet, so there is no key to replace');
    if (former !== null)
      throw new DomainError(
        'resource_conflict',
        'the previous key has not signed its last checkpoint yet: try again in a minute',
      );
    const organizationId = organizationOf(tree);
    const key = await newKey(context, organizationId, signing.origin);
    const events: AuditEvent[] = [{ type: 'AuditKeyAdded', data: { organizationId, origin: signing.origin, ...key } }];
    return (await appendToAuditLog(context, tree, loaded, { events, origin })) ? key.vkey : null;
  });

/** Puts an export on record. A checkpoint that is signed at the same moment is not in its way. */
export const noteExport = async (
  context: AuditContext,
  origin: Origin,
  { tree, from, to }: { readonly tree: string; readonly from: number; readonly to: number },
): Promise<void> => {
  const organizationId = organizationOf(tree);
  const events: AuditEvent[] = [{ type: 'AuditExported', data: { organizationId, from, to } }];
  await retryConflicts(async () => {
    const loaded = await loadAuditLog(context, tree);
    return (await appendToAuditLog(context, tree, loaded, { events, origin })) || null;
  });
};

/** Records what witnesses of an audit tree have answered, in the stream of its checkpoints. */

const witnessOrigin = (tree: string): Origin =>
  internalOrigin({ actor: 'worker:ask-witnesses', organizationId: organizationOf(tree), causeId: tree });

interface NoteCosignature {
  readonly tree: string;
  /** The note as signed. */
  readonly note: string;
  /** Verified by the caller. */
  readonly line: string;
}

interface NoteDispute {
  readonly tree: string;
  /** The checkpoint that the witness was shown. */
  readonly note: string;
  readonly witness: string;
  /** Leaves that it has cosigned. */
  readonly cosignedSize: number;
}

/** Released checkpoints are all in the log. A witness that claims more leaves, or does not continue from fewer, contradicts it. */
const isContradicted = ({ last, signing }: AuditLog, { note, cosignedSize }: NoteDispute): boolean => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  if (last === null || signing?.origin !== origin) return false;
  return cosignedSize <= size || cosignedSize > last.size;
};

/**
 * Records that a witness contradicts the log, which stops the signing. The witness need not have seen the newest checkpoint:
 * while checkpoints are signed continuously, it never has.
 * @returns false if the log was reopened since, or the number of leaves that the witness knows has been signed by now, so it was shown them.
 */
export const noteDispute = (context: AuditContext, dispute: NoteDispute): Promise<boolean> =>
  retryConflicts(async () => {
    const { tree, note, witness, cosignedSize } = dispute;
    const loaded = await loadAuditLog(context, tree);
    if (!isContradicted(loaded.state, dispute)) return false;
    if (loaded.state.dispute !== null) return true;
    const { origin, size } = parseCheckpoint(parseNote(note).text);
    const data = { organizationId: organizationOf(tree), origin, size, witness, cosignedSize };
    const events: AuditEvent[] = [{ type: 'AuditDisputed', data }];
    return (await appendToAuditLog(context, tree, loaded, { events, origin: witnessOrigin(tree) })) || null;
  });

const NUMBERED = /^(?<first>.*\/tlog\/[^/]+)\/(?<number>\d+)$/;

/** `<origin>/2` behind the first, then `/3`. */
const originAfter = (origin: string): string => {
  const { first = origin, number = '1' } = NUMBERED.exec(origin)?.groups ?? {};
  return `${first}/${Number(number) + 1}`;
};

/**
 * Continues under a new origin with a new key, although signed events may be missing from the log. The previous key also
 * signs the first checkpoint, so that its verifiers can follow.
 * @throws {DomainError} `not_found`: nothing has been signed yet.
 */
export const reopenAuditLog = (
  context: AuditContext,
  origin: Origin,
  { tree, reason }: { readonly tree: string; readonly reason: string },
): Promise<AuditKey & { readonly origin: string }> =>
  retryConflicts(async () => {
    const loaded = await loadAuditLog(context, tree);
    const { signing, last } = loaded.state;
    if (signing === null || last === null) throw new DomainError('not_found', 'nothing has been signed yet');
    const organizationId = organizationOf(tree);
    const next = originAfter(signing.origin);
    const key = await newKey(context, organizationId, next);
    const { vkey, secretId } = key;
    const events: AuditEvent[] = [
      {
        type: 'AuditReopened',
        data: { organizationId, origin: next, previousOrigin: signing.origin, previous: last.note, reason },
      },
      { type: 'AuditKeyAdded', data: { organizationId, origin: next, vkey, secretId } },
    ];
    const isAppended = await appendToAuditLog(context, tree, loaded, { events, origin });
    return isAppended ? { ...key, origin: next } : null;
  });

/**
 * Puts a witness's line on record; once, if two processes have asked, or one that died: the checkpoint may not be the newest
 * any more.
 */
export const noteCosignature = async (context: AuditContext, { tree, note, line }: NoteCosignature): Promise<void> => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  const signatory = signatoryOf(line);
  const isOnRecord = ({ type, data }: RecordedEvent): boolean =>
    type === 'CheckpointCosigned' &&
    data.origin === origin &&
    data.size === size &&
    data.lines.some((each) => signatoryOf(each) === signatory);
  await retryConflicts(async () => {
    const events = await auditLogSince(
      context,
      tree,
      ({ type, data }) => type === 'CheckpointSigned' && data.note === note,
    );
    if (events.some(isOnRecord)) return true;
    const data = { organizationId: organizationOf(tree), origin, size, lines: [line] };
    const cosigned: AuditEvent[] = [{ type: 'CheckpointCosigned', data }];
    const append = { events: cosigned, origin: witnessOrigin(tree) };
    return (await appendToAuditLog(context, tree, auditLogAt(events), append)) || null;
  });
};
