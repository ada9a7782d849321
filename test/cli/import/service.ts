import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, onTestFinished, vi } from 'vitest';
import type { Invocation, Result } from '../../../src/cli/command.ts';
import { resolveTarget } from '../../../src/cli/customer/profile.ts';
import { createService } from '../../../src/cli/customer/service.ts';
import { importCommand } from '../../../src/cli/import/command.ts';
import type { Progress } from '../../../src/cli/terminal.ts';
import { type Service, startService } from '../../http/support/service.ts';
import { testTerminal } from '../customer/customer.ts';

/** Result that an import reports. */
export interface ImportResult {
  readonly suppressions: object;
  readonly templates: object;
  readonly domains: object;
  readonly problems: readonly { readonly line: number; readonly reason: string }[];
  readonly records: number;
  /** Exit code. */
  readonly code: number;
  readonly text: string;
}

export const counted = (added: number, unchanged = 0, skipped = 0) => ({ added, unchanged, skipped });

/** A file with this text that is removed after the test. */
const fileWith = async (text: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'export');
  await writeFile(file, text);
  return file;
};

/** Runs the command against the service at `OUTBOX_URL`. */
export const runImport = async (invocation: Invocation, progress?: Progress): Promise<Result> => {
  const terminal = testTerminal(progress === undefined ? {} : { progress: () => progress });
  const service = createService({ target: await resolveTarget(undefined), signal: terminal.signal });
  return (await importCommand.run(service, invocation, terminal)) ?? {};
};

export const imported = async (
  vendor: string,
  text: string,
  options: object = {},
  progress?: Progress,
): Promise<ImportResult> => {
  const invocation = { values: { file: await fileWith(text), ...options }, positionals: [vendor] };
  const result = await runImport(invocation, progress);
  const told = { code: importCommand.exitCode?.(result), text: importCommand.textOf?.(result) };
  return { ...result, ...told } as unknown as ImportResult;
};

/** A running service. Each test has its own organization and key. */
export const useService = () => {
  let service: Service;
  const now = { key: '', name: '' };
  let organizations = 0;

  beforeAll(async () => {
    service = await startService();
    vi.stubEnv('OUTBOX_URL', await service.server.listen({ host: '127.0.0.1', port: 0 }));
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await service.close();
  });
  beforeEach(async () => {
    organizations += 1;
    now.name = `import${organizations}.test`;
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, now.name);
    now.key = (await service.makeKey(organizationId, domainId)).value;
    vi.stubEnv('OUTBOX_API_KEY', now.key);
  });

  const get = async (url: string) => (await service.request({ url, key: now.key })).json();
  return {
    now,
    check: (address: string) => get(`/v1/suppressions/check?address=${encodeURIComponent(address)}`),
    template: (alias: string) => get(`/v1/templates/${alias}`),
  };
};

/** The response of `GET /message-streams/{id}/suppressions/dump`, indented. */
export const POSTMARK_DUMP = JSON.stringify(
  {
    Suppressions: [
      {
        EmailAddress: 'ann@example.net',
        SuppressionReason: 'ManualSuppression',
        Origin: 'Recipient',
        CreatedAt: '2019-12-17T08:58:33-05:00',
      },
      {
        EmailAddress: 'bob@example.net',
        SuppressionReason: 'HardBounce',
        Origin: 'Recipient',
        CreatedAt: '2019-12-17T08:58:33-05:00',
      },
      { EmailAddress: 'nobody', SuppressionReason: 'SpamComplaint', Origin: 'Recipient', CreatedAt: 'x' },
      { EmailAddress: 'Bob@example.net', SuppressionReason: 'HardBounce', Origin: 'Admin', CreatedAt: 'x' },
    ],
    TotalCount: 4,
    More: { deep: { EmailAddress: 'never@example.net' } },
  },
  null,
  2,
);
