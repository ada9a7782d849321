import { rotateAuditKey } from '../../commands/audit.ts';
import type { Verdict } from '../../domain/audit/verifier/judgement.ts';
import { checkTrees, type TreesChecked } from '../../projections/audit/check/check-trees.ts';
import {
  type OperatorCommand,
  operatorOrigin,
  optional,
  optionalCount,
  type PlainCommand,
  repeated,
  required,
  UsageError,
} from '../command.ts';
import { exitCodeOf, verdictText, verifyFile } from './verify-file.ts';

export const verifyAuditCommand: PlainCommand = {
  name: 'audit verify',
  usage: 'FILE [--key VKEY] [--policy FILE] [--since NOTE,…] [--quorum COUNT] [--expect FILE] [--disclosures FILE,…]',
  needs: 'nothing',
  summary: 'proves that an export of the audit log is whole and unchanged; exit code 1: it is not, 2: undecided',
  run: async (invocation) => {
    const [file, ...more] = invocation.positionals;
    if (file === undefined || more.length > 0)
      throw new UsageError('give one file: npm run outbox -- audit verify FILE');
    const [key, policy, expect] = ['key', 'policy', 'expect'].map((option) => optional(invocation, option));
    const [since = [], disclosures = []] = ['since', 'disclosures'].map((option) => repeated(invocation, option));
    const quorum = optionalCount(invocation, 'quorum');
    return { ...(await verifyFile({ file, key, policy, expect, since, quorum, disclosures })) };
  },
  exitCode: (result) => exitCodeOf(result as unknown as Verdict), // as `run` gives it
  textOf: (result) => verdictText(result as unknown as Verdict), // as `run` gives it
};

/** Rest after each page of the log, in times of what it took: half of a processor at most, beside the service. */
const REST_SHARE = 1;

const CHECK_CODES = { 'no fault': 0, faults: 1, undecided: 2 } as const;

const checkText = ({ verdict, faults, faultCount, doubts, ...counts }: TreesChecked): string => {
  const more = faultCount - faults.length;
  const { trees, leaves, checkpoints } = counts;
  return [
    verdict,
    ...[...faults, ...(more > 0 ? [`and ${more} more`] : []), ...doubts].map((line) => `  ${line}`),
    `  compared: ${leaves} leaves of ${trees} trees, and ${checkpoints} checkpoints`,
  ].join('\n');
};

export const checkAuditCommand: OperatorCommand = {
  name: 'audit check',
  usage: '[--organization ORG_ID]',
  summary: 'compares the log with the audit trees and checkpoints; exit code 1: faults, 2: undecided',
  failureCode: 2,
  run: async ({ context, pool, store, system }, invocation) => {
    const tree = optional(invocation, 'organization');
    if (tree !== undefined) await operatorOrigin(context, tree);
    const { signal } = new AbortController();
    return { ...(await checkTrees({ db: pool, store, system, tree, restShare: REST_SHARE, signal })) };
  },
  exitCode: (result) => CHECK_CODES[(result as unknown as TreesChecked).verdict], // as `run` gives it
  textOf: (result) => checkText(result as unknown as TreesChecked), // as `run` gives it
};

export const rotateAuditKeyCommand: OperatorCommand = {
  name: 'audit rotate-key',
  usage: '--organization ORG_ID',
  summary: 'gives the audit log of an organization a new signing key; the next checkpoint is signed by both',
  run: async ({ context }, invocation) => {
    const organizationId = required(invocation, 'organization');
    const origin = await operatorOrigin(context, organizationId);
    return { organization_id: organizationId, verifier_key: await rotateAuditKey(context, origin, organizationId) };
  },
};
