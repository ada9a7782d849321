import { rotateAuditKey } from '../../commands/audit.ts';
import type { Verdict } from '../../domain/audit/verifier/judgement.ts';
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
  usage: 'FILE [--key VKEY] [--policy FILE] [--since NOTE,…] [--quorum COUNT] [--expect FILE]',
  needs: 'nothing',
  summary: 'proves that an export of the audit log is whole and unchanged; exit code 1: it is not, 2: undecided',
  run: async (invocation) => {
    const [file, ...more] = invocation.positionals;
    if (file === undefined || more.length > 0)
      throw new UsageError('give one file: npm run outbox -- audit verify FILE');
    const [key, policy, expect] = ['key', 'policy', 'expect'].map((option) => optional(invocation, option));
    const since = repeated(invocation, 'since') ?? [];
    return { ...(await verifyFile({ file, key, policy, expect, since, quorum: optionalCount(invocation, 'quorum') })) };
  },
  exitCode: (result) => exitCodeOf(result as unknown as Verdict), // as `run` gives it
  textOf: (result) => verdictText(result as unknown as Verdict), // as `run` gives it
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
