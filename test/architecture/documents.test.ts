import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { CUSTOMER_COMMANDS } from '../../src/cli/customer/commands.ts';
import { EXIT } from '../../src/cli/terminal.ts';
import { readConfig, VARIABLES } from '../../src/config.ts';
import { SANDBOX_FATES, sandboxAddress } from '../../src/domain/message/attempt.ts';
import { RECIPIENT_STATUSES } from '../../src/domain/message/message.ts';
import { STATS_DIMENSIONS, STATS_METRICS } from '../../src/projections/stats/metrics.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const pages = ['README.md', ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: read(path) }));
const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);

/** The first group of each match in all pages, with the page. */
const named = (pattern: RegExp): readonly (readonly [string, string])[] =>
  pages.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([, found = '']) => [path, found] as const));

describe('the documents', () => {
  test('describe each variable, with its default, and no other', () => {
    const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z][A-Z_]+)` \|(?: `([^`]+)`)? \| .+ \|$/gm)];
    expect(rows.map(([, name]) => name).sort()).toEqual([...VARIABLES].sort());
    const defaults = Object.fromEntries(rows.map(([, name, value]) => [name, value]));
    expect(readConfig(defaults)).toEqual(readConfig({}));
    const set = Object.values(readConfig({})).filter((value) => value !== undefined && String(value) !== '');
    // Two variables, both rates, form one setting.
    expect(Object.values(defaults).filter((value) => value !== undefined)).toHaveLength(set.length + 1);
  });

  test('name every metric and every dimension of statistics', () => {
    const page = read('docs/statistics.md');
    const missing = [...STATS_METRICS, ...STATS_DIMENSIONS].filter((name) => !page.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });

  test('list every sandbox address, each with its outcome', () => {
    const rows = [...read('docs/sending.md').matchAll(/^\| `([\w+]+@sandbox\.outbox\.test)` \| (\w+)/gm)];
    const listed = rows.map(([, address = '', outcome]) => ({ fate: sandboxAddress(address)?.fate, outcome }));
    expect(new Set(listed.map(({ fate }) => fate))).toEqual(new Set(SANDBOX_FATES));
    // A complaint comes after the delivery.
    const outcomes: Readonly<Record<string, string>> = { complained: 'delivered' };
    for (const { fate = '', outcome } of listed) expect(outcome).toBe(outcomes[fate] ?? fate);
  });

  test('name only npm scripts that exist', () => {
    const found = named(/npm run ([a-z:-]+)/g);
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter(([, name]) => !scripts.includes(name))).toEqual([]);
  });

  test('do not use `npm run outbox`, which prints two lines before JSON', () => {
    expect(named(/(npm (?:--prefix \S+ )?run outbox -- )(?!…)/g)).toEqual([]);
  });

  test('name only commands that exist', () => {
    const known = ['help', ...COMMANDS.map(({ name }) => name)];
    const found = named(/(?:^|`|\| |<\()outbox (?![.…])([^`\n)]+)/gm);
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter(([, words]) => !known.some((name) => words === name || words.startsWith(`${name} `)))).toEqual(
      [],
    );
  });

  test('name every customer command', () => {
    const page = read('docs/cli.md');
    expect(CUSTOMER_COMMANDS.map(({ name }) => name).filter((name) => !page.includes(name))).toEqual([]);
  });

  test('list every exit code', () => {
    const rows = [...read('docs/commands.md').matchAll(/^\| (\d+) \| `([a-z]+)` \| .+ \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, name]) => [name, Number(code)]))).toEqual(EXIT);
  });

  test('name only paths that exist', () => {
    const found = named(/`((?:src|test|docs)\/[\w./-]+)`/g);
    expect(found.length).toBeGreaterThan(8);
    expect(found.filter(([, path]) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('and comments name only files that exist', () => {
    const files = ['src', 'sdk', 'cli', 'test', 'chaos', 'bench', 'docs', 'deploy', '.ci'].flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
        .filter((file) => !file.includes('node_modules'))
        .map((file) => `/${folder}/${file}`),
    );
    const isFile = (name: string): boolean => files.some((file) => file.endsWith(`/${name}`));
    const missing = files
      .filter((file) => /^\/(?:src|chaos|bench)\/.*\.tsx?$/.test(file))
      .flatMap((file) => {
        const comments = read(file.slice(1)).match(/\/\*[\s\S]*?\*\/|\/\/.*/g) ?? [];
        const names = comments.flatMap((comment) => [...comment.matchAll(/`([\w./-]+\.(?:tsx?|sql))`/g)]);
        return names.flatMap(([, name = '']) => (isFile(name) ? [] : [`${name}: ${file}`]));
      });
    expect(missing).toEqual([]);
  });

  test('link only to files that exist', () => {
    const found = named(/\]\((?!https?:)([^)#]+)/g);
    expect(found.length).toBeGreaterThan(10);
    expect(found.filter(([page, to]) => !existsSync(new URL(to, new URL(page, root))))).toEqual([]);
  });

  test('can all be reached from the README', () => {
    const readme = read('README.md');
    expect(pages.filter(({ path }) => path !== 'README.md' && !readme.includes(`](${path})`))).toEqual([]);
  });

  test('list every metric, and no others', () => {
    const sources = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => read(`src/${path}`));
    const served = sources.flatMap((text) => [...text.matchAll(/name: '(outbox_\w+)'/g)].map(([, name]) => name));
    const listed = [...read('docs/operations.md').matchAll(/^\| `(outbox_\w+)(?:\{[\w,]+\})?` \|/gm)];
    expect(listed.map(([, name]) => name).sort()).toEqual(served.sort());
  });

  test('begin with a README no longer than two screens', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(115);
  });

  test('draw a message with its real statuses, and the flow with folders that exist', () => {
    const [, states = ''] = /stateDiagram-v2\n([\s\S]*?)```/.exec(read('docs/concepts.md')) ?? [];
    const drawn = [...states.matchAll(/\b([a-z]+)(?= -->)|--> ([a-z]+)/g)].map(([, from, to]) => from ?? to);
    expect([...new Set(drawn)].sort()).toEqual([...RECIPIENT_STATUSES].sort());
    const [, flow = ''] = /flowchart LR\n([\s\S]*?)```/.exec(read('README.md')) ?? [];
    const folders = [...flow.matchAll(/\b(http|commands|workers|projections)(?:\[|\b.*\[\1)/g)].map(([, name]) => name);
    expect(new Set(folders)).toEqual(new Set(['http', 'commands', 'workers', 'projections']));
    for (const folder of folders) expect(existsSync(new URL(`src/${folder}`, root))).toBe(true);
  });
});

describe('the decisions', () => {
  const folder = new URL('docs/decisions/', root);
  const decisions = readdirSync(folder).sort();

  test('are numbered without a gap', () => {
    const numbers = decisions.map((_, index) => `${index + 1}`.padStart(4, '0'));
    expect(decisions.map((file) => file.slice(0, 4))).toEqual(numbers);
  });

  test.each(decisions)('%s has its name as its title, then context, decision and consequences', (file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const headings = text.match(/^#+ .*$/gm) ?? [];
    const [title = '', ...sections] = headings;
    expect(
      `${title
        .toLowerCase()
        .match(/[a-z\d]+/g)
        ?.join('-')}.md`,
    ).toBe(file);
    expect(sections).toEqual(['## Context', '## Decision', '## Consequences']);
    const paths = [...text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });
});
