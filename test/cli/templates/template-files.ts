import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, onTestFinished, vi } from 'vitest';
import type { ServiceCommand } from '../../../src/cli/command.ts';
import { resolveTarget } from '../../../src/cli/customer/profile.ts';
import { createService } from '../../../src/cli/customer/service.ts';
import {
  diffTemplatesCommand,
  pullTemplatesCommand,
  pushTemplatesCommand,
} from '../../../src/cli/templates/commands.ts';
import { createTerminal } from '../../../src/cli/terminal.ts';
import { type DatabaseService, startDatabaseService } from '../../http/support/database-service.ts';

export const YAML = `name: Welcome
subject: "Welcome {{ name }}"
preheader: Good to have you
variables:
  - name: name
    type: string
    example: Ann
locales:
  de:
    subject: "Willkommen {{ name }}"
`;

/** A folder that is removed after the test, with its content. */
export const newFolder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'templates-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
};

const run = async (command: ServiceCommand, options: object, root: string) => {
  const { signal } = new AbortController();
  const service = createService({ target: await resolveTarget(undefined), signal });
  const terminal = createTerminal({ json: true, signal });
  const result = (await command.run(service, { values: { ...options }, positionals: [root] }, terminal)) ?? [];
  const rows = result as readonly { template: string; result: string; details?: string[]; version?: number }[];
  return {
    rows,
    results: Object.fromEntries(rows.map((row) => [row.template, row.result])),
    code: command.exitCode?.(result),
  };
};

/** A running service for the commands. Each test has its own organization, key and empty folder. */
export const useTemplateFiles = () => {
  let service: DatabaseService;
  let organizations = 0;
  const now = { url: '', key: '', folder: '' };

  beforeAll(async () => {
    service = await startDatabaseService();
    now.url = await service.server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await service.close();
  });
  beforeEach(async () => {
    organizations += 1;
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, `example-${organizations}.test`);
    now.key = (await service.makeKey(organizationId, domainId)).value;
    vi.stubEnv('OUTBOX_URL', now.url);
    vi.stubEnv('OUTBOX_API_KEY', now.key);
    now.folder = await newFolder();
  });

  const write = async (path: string, text: string, root = now.folder): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  return {
    now,
    push: (options: object = {}, root = now.folder) => run(pushTemplatesCommand, options, root),
    pull: (options: object = {}, root = now.folder) => run(pullTemplatesCommand, options, root),
    diff: (root = now.folder) => run(diffTemplatesCommand, {}, root),
    write,
    read: (path: string, root = now.folder): Promise<string> => readFile(join(root, path), 'utf8'),
    ask: async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) => {
      const body = payload === undefined ? {} : { payload };
      return (await service.request({ method, url: `/v1/templates${path}`, key: now.key, ...body })).json();
    },
    writeWelcome: async (root = now.folder): Promise<void> => {
      await write('welcome/template.yaml', YAML, root);
      await write('welcome/template.html', '<p>Welcome\n{{ name }}</p>\n', root);
      await write('welcome/text.liquid', 'Welcome {{ name }}\n', root);
      await write('welcome/locales/de/template.html', '<p>Willkommen {{ name }}</p>\n', root);
    },
  };
};
