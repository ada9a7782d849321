import { readFile } from 'node:fs/promises';
import { readPostgresOrigins } from '../../adapters/request-origins.ts';
import { adoptEarlierEvents, findForeignEvent } from '../../commands/adopt-events.ts';
import { reopenAuditLog, rotateAuditKey } from '../../commands/audit.ts';
import { internalOrigin } from '../../commands/execute.ts';
import { auditCheckNotes, noteAuditCheck, witnessPolicyOf } from '../../composition/open-operator.ts';
import { treeOf } from '../../domain/audit/leaf.ts';
import type { Verdict } from '../../domain/audit/verifier/judgement.ts';
import { type KeptCheckpoint, keptCheckpoint } from '../../projections/audit/check/anchors.ts';
import { checkTrees, type TreeCheckResult } from '../../projections/audit/check/check-trees.ts';
import { createReadModels } from '../../projections/read-models.ts';
import { type OperatorCommand, optional, optionalCount, type PlainCommand, repeated, required } from '../command.ts';
import { countReads } from '../maintenance.ts';
import { operatorHost, operatorOrigin, reasonIn } from '../operator-origin.ts';
import { CommandFailed, UsageError } from '../terminal.ts';
import { exitCodeOf, verdictText, verifyFile } from './verify-file.ts';

/** More fill a terminal. */
const FOREIGN_SHOWN_MAX = 100;

export const reopenAuditLogCommand: OperatorCommand = {
  name: 'audit reopen',
  usage: '--organization ORG_ID --reason TEXT',
  summary: "resumes signing an organization's audit log after a restore, under a new origin",
  run: async ({ context }, invocation) => {
    const tree = required(invocation, 'organization');
    const reason = reasonIn(invocation);
    const { origin, vkey } = await reopenAuditLog(context, await operatorOrigin(context, tree), { tree, reason });
    return { organization_id: tree, origin, verifier_key: vkey };
  },
};

export const adoptEventsCommand: OperatorCommand = {
  name: 'audit adopt',
  usage: '--reason TEXT',
  summary:
    'accepts all events so far that this service cannot prove to have written, on record, so that audit logs are signed again; refuses if every event has a proof',
  run: async ({ context, pool, store, system }, invocation) => {
    const reason = reasonIn(invocation);
    const foreign = await createReadModels({ pool, store, system }).audit.foreign(FOREIGN_SHOWN_MAX);
    // The read model can be behind the log.
    const first = foreign.length === 0 ? await findForeignEvent(store) : null;
    if (foreign.length === 0 && first === null)
      throw new CommandFailed('every event has a valid proof: nothing was adopted');
    const origin = internalOrigin({ actor: 'operator', organizationId: '', causeId: system.uuid() });
    await adoptEarlierEvents(context, { ...origin, operator: operatorHost() }, reason);
    const shown = first === null ? foreign : [{ tree: treeOf(first), leaf: null, eventId: first.id }];
    return {
      reason,
      first_events: shown.map(({ tree, leaf, eventId }) => ({ tree, leaf, event_id: eventId })),
      next: 'restart the service: its running processes have left these events out',
    };
  },
};

export const verifyAuditCommand: PlainCommand = {
  name: 'audit verify',
  usage: 'FILE [--key VKEY] [--policy FILE] [--since NOTE,…] [--quorum COUNT] [--expect FILE] [--disclosures FILE,…]',
  needs: 'nothing',
  summary:
    'verifies that an audit log export is complete and unchanged, or that the log contains the events of a report; exits with 1 if not, with 2 if undecided',
  run: async (invocation) => {
    const [file, ...more] = invocation.positionals;
    if (file === undefined || more.length > 0) throw new UsageError('expected one file: outbox audit verify FILE');
    const [key, policy, expect] = ['key', 'policy', 'expect'].map((option) => optional(invocation, option));
    const [since = [], disclosures = []] = ['since', 'disclosures'].map((option) => repeated(invocation, option));
    const quorum = optionalCount(invocation, 'quorum');
    return { ...(await verifyFile({ file, key, policy, expect, since, quorum, disclosures })) };
  },
  failureCode: 2,
  exitCode: (result) => exitCodeOf(result as unknown as Verdict), // `run` returns it
  textOf: (result) => verdictText(result as unknown as Verdict), // `run` returns it
};

/**
 * Pause after each page of the log, as a multiple of the time the page took. 1 limits the check to half a processor,
 * which leaves the rest to the service.
 */
const REST_SHARE = 1;

const CHECK_CODES = { 'no fault': 0, faults: 1, consistent: 2, undecided: 2 } as const;

const treesText = (count: number): string => `${count} ${count === 1 ? 'tree' : 'trees'}`;

/** Says what the log was compared with: without that, a verdict says nothing about a log that was rewritten. */
const anchorText = ({ verdict, trees, leaves, anchored }: TreeCheckResult): string => {
  if (anchored.trees > 0)
    return `compared with ${anchored.by.join(', ')}: ${anchored.trees} of ${treesText(trees)}, ${anchored.leaves} of ${leaves} leaves`;
  return verdict === 'consistent'
    ? 'the log was compared with nothing outside the service, so it may have been rewritten: set AUDIT_WITNESSES, or pass a checkpoint that you kept with --since'
    : 'no cosignature of a witness and no checkpoint that you kept agrees with the log';
};

/** Advice about faults: the investigation comes before the repair. */
const adviceText = ({ isLogChanged }: TreeCheckResult): readonly string[] =>
  isLogChanged
    ? [
        'What to do:',
        '1. Keep a copy of the database, its backups and the logs of its server as evidence, before you change anything.',
        '2. Find out who could write to the database, and when it was changed.',
        '3. Restore a backup of before, or put the named events back, and check again.',
        '4. Only after a restore that lost events: `outbox audit reopen`. Only if the events are right: `outbox audit adopt`.',
      ]
    : [
        'What to do: the log is right. Tables that are made from it were changed from outside the service.',
        '1. Keep a copy of the database as evidence, and find out who could write to it.',
        '2. Make the tables again: `outbox projections rebuild audit`. Then check again.',
      ];

const checkText = (result: TreeCheckResult): string => {
  const { verdict, faults, faultCount, doubts, disputed, isLogChanged: _, ...counts } = result;
  const more = faultCount - faults.length;
  const { since, trees, leaves, checkpoints, cosignatures, contents, replies, clients, withoutHashes } = counts;
  const signing =
    'is no longer signed, because a witness contradicts it. Find out why before you run `outbox audit reopen` (docs/audit.md, After a restore)';
  return [
    verdict === 'consistent' ? 'consistent in itself' : verdict,
    ...[...faults, ...(more > 0 ? [`and ${more} more`] : []), ...doubts].map((line) => `  ${line}`),
    ...disputed.map((tree) => `  ${tree} ${signing}`),
    ...(verdict === 'faults' ? adviceText(result) : []).map((line) => `  ${line}`),
    ...(withoutHashes > 0
      ? [`  ${withoutHashes} removed contents could not be checked: their hashes no longer exist`]
      : []),
    `  ${anchorText(result)}`,
    ...(since === null
      ? []
      : [`  checked from ${since.at}, when ${since.leaves} leaves agreed; \`--full\` checks everything`]),
    `  read: ${leaves - (since?.leaves ?? 0)} leaves of ${treesText(trees)}, ${checkpoints} checkpoints, ${cosignatures} cosignatures, ` +
      `${contents} contents, ${replies} replies, ${clients} clients`,
  ].join('\n');
};

/** The note in a response of the API, or else the text itself. */
const noteIn = (text: string): string => {
  try {
    const { note, data } = JSON.parse(text);
    return String(note ?? data[0].note);
  } catch {
    return text;
  }
};

/** @throws {UsageError} if it is not a signed checkpoint. */
const readKept = async (path: string): Promise<KeptCheckpoint> => {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`--since: cannot read ${path}: ${error.message}`);
  });
  const kept = keptCheckpoint(path, `${noteIn(text).trimEnd()}\n`);
  if (kept === null)
    throw new UsageError(
      `--since: ${path} is not a signed checkpoint: save the \`note\` of one from GET /v1/audit/checkpoints`,
    );
  return kept;
};

export const checkAuditCommand: OperatorCommand = {
  name: 'audit check',
  usage: '[--full] [--organization ORG_ID] [--since NOTE,…]',
  summary:
    'compares the log with the audit trees, contents, clients, cosignatures of witnesses and checkpoints that you kept (repeat --since for each); exits with 1 if it finds faults, with 2 if undecided or if there was nothing outside the service to compare with',
  failureCode: 2,
  run: async ({ context, pool, store: log, system, vaultOn }, invocation, config, terminal) => {
    const tree = optional(invocation, 'organization');
    if (tree !== undefined) await operatorOrigin(context, tree);
    const { signal } = new AbortController();
    const policy = await witnessPolicyOf(config, context.secrets);
    const kept = await Promise.all((repeated(invocation, 'since') ?? []).map(readKept));
    const origins = readPostgresOrigins(pool);
    const bar = terminal.progress('check');
    const store = await countReads(log, bar);
    const notes = auditCheckNotes(vaultOn(pool).secrets);
    // One tree, or files about early leaves, are compared from the start of the log.
    const isPart = tree !== undefined || kept.length > 0;
    const begin = isPart ? {} : { notes, fullAfterMs: invocation.values.full === true ? 0 : undefined };
    const parts = { db: pool, store, system, contents: context.contents, origins, policy, kept, ...begin };
    const checked = await checkTrees({ ...parts, tree, restShare: REST_SHARE, signal }).finally(bar.end);
    if (checked.verdict === 'faults') await notes.write(null);
    if (tree === undefined) await noteAuditCheck(context.secrets, system.now(), checked);
    return { ...checked };
  },
  exitCode: (result) => CHECK_CODES[(result as unknown as TreeCheckResult).verdict], // `run` returns it
  textOf: (result) => checkText(result as unknown as TreeCheckResult), // `run` returns it
};

export const rotateAuditKeyCommand: OperatorCommand = {
  name: 'audit rotate-key',
  usage: '--organization ORG_ID',
  summary: "gives an organization's audit log a new signing key; both keys sign the next checkpoint",
  run: async ({ context }, invocation) => {
    const organizationId = required(invocation, 'organization');
    const origin = await operatorOrigin(context, organizationId);
    return { organization_id: organizationId, verifier_key: await rotateAuditKey(context, origin, organizationId) };
  },
};
