#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { exitCodeOf, verdictText, verifyFile } from './verify-file.ts';

/** Runs `outbox audit verify` as a standalone program. `npm run build:verifier` bundles it into one file. */

const USAGE =
  'outbox-audit-verify FILE --key VKEY [--policy FILE] [--since NOTE]… [--quorum COUNT] [--expect FILE] [--disclosures FILE]… [--json]';
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
  console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  process.exitCode = BAD_USAGE;
}
