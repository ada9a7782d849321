import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCosigner, createSigner, type Signer } from '../../../src/lib/transparency/transparency.ts';
import { type AuditLogWriter, createAuditLog, exportOf, ORIGIN } from '../../support/audit-export.ts';
import { disclosureOf } from '../../support/disclosures.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const STANDALONE = join(ROOT, 'verifier/outbox-audit-verify.mjs');

const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-audit-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
};

interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = async (...args: readonly string[]): Promise<CommandEnd> => {
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [...args])) };
  } catch (error) {
    return error as CommandEnd; // `execFile` rejects with this type
  }
};

const COMMANDS = [
  ['the command', [join(ROOT, 'src/cli/main.ts'), 'audit', 'verify']],
  ['the file on its own', [STANDALONE]],
] as const;

describe.each(COMMANDS)('%s', (_, command) => {
  test('verifies an export, plain or gzipped, and exits with 0, 1 or 2', async () => {
    const path = await folder();
    const log = createAuditLog();
    log.fill(400);
    const write = async (name: string, bytes: string | Buffer) => {
      await writeFile(join(path, name), bytes);
      return join(path, name);
    };
    const plain = await write('export.jsonl', log.export());
    const gzip = await write('export.jsonl.gz', gzipSync(log.export()));
    const since = await write('earlier.note', log.note(300));
    const ids = await write('ids.txt', 'msg_1\nmsg_2\n');
    const key = log.signer.verifierKey.text;
    const uncompared = 'consistent in itself; not compared with anything you kept\n';
    const facts = `  400 leaves of ${ORIGIN}\n  root ${log.root(400).toString('base64')}\n`;
    const words = `${uncompared}${facts}`;
    expect(await run(...command, plain, '--key', key)).toMatchObject({ code: 2, stdout: words, stderr: '' });
    const more = [...command, gzip, '--key', key, '--since', since, '--since', since, '--expect', ids];
    expect(await run(...more)).toMatchObject({
      code: 0,
      stdout: `verified\n${facts}  compared with 2 other checkpoints\n`,
    });
    const witness = createCosigner('witness.example', randomBytes(32)).verifierKey.text;
    const policy = await write('policy', `log ${key}\nwitness w ${witness}\nquorum w\n`);
    expect(await run(...command, plain, '--policy', policy)).toMatchObject({ code: 2 });
    expect(await run(...command, plain, '--policy', since)).toMatchObject({ code: 2 });
    expect(await run(...command, plain)).toMatchObject({ code: 2 });
    expect(await run(...command, join(path, 'none'), '--key', key)).toMatchObject({ code: 2 });
    const altered = await write('altered.jsonl', log.export().replace('msg_3', 'msg_4'));
    const { code, stdout } = await run(...command, altered, '--key', key, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'not verified' });
    const id = (JSON.parse(log.leaves[4] as string) as { readonly id: string }).id;
    const disclosure = await write('disclosure.json', JSON.stringify(disclosureOf(id, 4, []), null, 2));
    expect(await run(...command, plain, '--key', key, '--disclosures', disclosure)).toMatchObject({
      code: 2,
      stdout: `${uncompared}  leaf 4, event ${id}, has no content\n${facts}`,
    });
    const repeated = [...command, plain, '--key', key, '--disclosures', disclosure, '--disclosures', disclosure];
    expect(await run(...repeated)).toMatchObject({
      code: 2,
      stdout: expect.stringContaining(`event ${id} is disclosed twice`),
    });
    const report = { object: 'audit_report', type: 'api_key', id: 'key_1', title: 'What happened to API key key_1' };
    const ofKey = [{ name: 'Key', value: 'key_1' }];
    const signed = {
      ...report,
      checkpoint: { note: log.note(400) },
      events: [],
      evidence: [],
      access: [],
      facts: ofKey,
    };
    const reported = await write('report.json', JSON.stringify(signed, null, 2));
    expect(await run(...command, reported, '--key', key)).toMatchObject({
      code: 2,
      stdout:
        `${uncompared}  only this JSON was verified: CSV, HTML and the pages of a PDF are for reading\n` +
        `  only an export shows that no event was left out\n${facts}`,
    });
    const cut = await write('cut.jsonl.gz', gzipSync(log.export()).subarray(0, -20));
    expect(await run(...command, cut, '--key', key)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('the end is cut off'),
    });
  }, 180_000);
});

describe.each(COMMANDS)('%s, given a forged export,', (_, command) => {
  const announced = ({ verifierKey }: Signer) => ({
    type: 'AuditKeyAdded',
    stream: 'audit-org_mine',
    data: { origin: ORIGIN, vkey: verifierKey.text },
  });
  const forgeries: readonly (readonly [string, (log: AuditLogWriter, forger: Signer) => string])[] = [
    [
      'a stranger announces a key in the leaf behind a genuine checkpoint',
      (log, forger) => {
        const note = log.note(10);
        log.add(announced(forger));
        const data = { size: 10, root: log.root(10).toString('base64'), note };
        log.add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data });
        return log.export({ note: log.note(log.leaves.length, [forger.signatureLine]) });
      },
    ],
    [
      'leaves follow those that were signed',
      (log) => {
        const note = log.note(10);
        log.fill(12);
        return exportOf(log.leaves, { from: 0, size: 10, edge: [], note });
      },
    ],
    [
      'a leaf is missing at the end',
      (log) => exportOf(log.leaves.slice(0, 9), { from: 0, size: 10, edge: [], note: log.note(10) }),
    ],
  ];

  test.each(forgeries)('rejects it: %s', async (_, forge) => {
    const path = join(await folder(), 'forged.jsonl');
    const log = createAuditLog();
    log.fill(10);
    await writeFile(path, forge(log, createSigner(ORIGIN, randomBytes(32))));
    const ran = await run(...command, path, '--key', log.signer.verifierKey.text);
    expect([ran.code, ran.stdout]).toEqual([1, expect.stringMatching(/^not verified\n/)]);
  });
});

test('the standalone file explains how to use it', async () => {
  for (const word of ['--help', '-h']) {
    const ran = await run(STANDALONE, word);
    expect(ran).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^outbox-audit-verify FILE --key/),
    });
    const described = [...ran.stdout.matchAll(/^ {2}(?:-h, )?(?:--)?(\w+) .*\w/gm)].map(([, name]) => name);
    const options = ['key', 'policy', 'since', 'quorum', 'expect', 'disclosures', 'json', 'help'];
    expect(described).toEqual([...options, '0', '1', '2', '64']);
  }
  const problem = async (...words: readonly string[]) => {
    const { code, stderr } = await run(STANDALONE, ...words);
    return [code, stderr.split('\n')[0]];
  };
  expect(await problem()).toEqual([64, 'expected one file']);
  expect(await problem('one', 'two')).toEqual([64, 'expected one file']);
  expect(await problem('one', '--quorum', '0')).toEqual([64, '--quorum must be 1-9999']);
});

test('the standalone file is the output of `npm run build:verifier`', async () => {
  const path = join(await folder(), 'built.mjs');
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const words = scripts['build:verifier'].replace('verifier/outbox-audit-verify.mjs', path).split(' ');
  await promisify(execFile)(join(ROOT, 'node_modules/.bin', words[0]), words.slice(1), { cwd: ROOT });
  const built = await readFile(path, 'utf8');
  expect(await readFile(STANDALONE, 'utf8')).toBe(built);
  // A reader should be able to look through it. 54 kB: it also derives everything that reports state again.
  expect(built.length).toBeLessThan(55_000);
  expect([...built.matchAll(/from"([^"]+)"/g)].filter(([, name]) => !name?.startsWith('node:'))).toEqual([]);
});
