import type { Verdict } from '../../domain/audit/verifier/judgement.ts';
import { optional, optionalCount, type PlainCommand, repeated, UsageError } from '../command.ts';
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
