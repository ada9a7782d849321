#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { exitCodeOf, verdictText, verifyFile } from './verify-file.ts';

/** Runs `outbox audit verify` as a standalone program. `npm run build:verifier` bundles it into one file. */

const USAGE = `outbox-audit-verify FILE --key VKEY [options]

Verifies an audit log offline. FILE is an export (plain or gzip), or a report as JSON; the JSON of a PDF is the file attached to it.

  --key VKEY           verifier key that you kept on your first day
  --policy FILE        C2SP tlog-policy file: logs, witnesses, and the quorum that must have cosigned
  --since NOTE         file with a checkpoint that you kept; repeat the option for several
  --quorum COUNT       witnesses of the policy that must have cosigned, 1-9999, instead of its own quorum
  --expect FILE        ids that an export must contain: of events, messages, keys or domains
  --disclosures FILE   answers of GET /v1/audit/disclosures/{event_id}, one in each line; repeat the option for several
  --json               print the verdict as JSON
  -h, --help           print this help

Exit codes:
  0    verified: nothing was changed since the checkpoints that you kept, or that witnesses cosigned
  1    not verified: the file was changed, or the log was rewritten
  2    undecided, or consistent only in itself: pass --key, and --since or --policy, to compare it
  64   wrong arguments`;
const BAD_USAGE = 64;

const read = () => {
  const { values, positionals } = parseArgs({
    options: {
      key: { type: 'string' },
      policy: { type: 'string' },
      since: { type: 'string', multiple: true },
      quorum: { type: 'string' },
      expect: { type: 'string' },
      disclosures: { type: 'string', multiple: true },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  const { quorum = '1', since = [], disclosures = [] } = values;
  if (values.help === true) return null;
  if (positionals.length !== 1) throw new Error('expected one file');
  if (!/^[1-9]\d{0,3}$/.test(quorum)) throw new Error('--quorum must be 1-9999');
  return { ...values, since, disclosures, file: positionals[0] as string, quorum: values.quorum && Number(quorum) };
};

try {
  const given = read();
  if (given === null) console.log(USAGE);
  else {
    const { json, quorum, help: _, ...args } = given;
    const verdict = await verifyFile({ ...args, quorum: quorum === '' ? undefined : quorum });
    console.log(json === true ? JSON.stringify(verdict) : verdictText(verdict));
    process.exitCode = exitCodeOf(verdict);
  }
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\nRun outbox-audit-verify --help for all options.`);
  process.exitCode = BAD_USAGE;
}
