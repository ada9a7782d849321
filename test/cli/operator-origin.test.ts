import { hostname, userInfo } from 'node:os';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { operatorHost, operatorOrigin } from '../../src/cli/operator-origin.ts';
import { setCeilings } from '../../src/commands/organization.ts';
import { type Service, startService } from '../http/support/service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => service.close());

test('operator actions are recorded with the person and the host behind them', async () => {
  vi.stubEnv('SUDO_USER', '');
  const { context } = service.deps;
  const organizationId = await service.makeOrganization();
  await setCeilings(context, await operatorOrigin(context, organizationId), { send: 7 });
  const { events } = await context.store.readAll({ direction: 'backwards', limit: 1 });
  expect(events[0]?.metadata).toMatchObject({
    actor: 'operator',
    operator: { user: userInfo().username, host: hostname() },
  });
  expect(events[0]?.metadata).not.toHaveProperty('secret');
});

test('the person behind sudo is recorded', () => {
  vi.stubEnv('SUDO_USER', 'anna');
  expect(operatorHost().user).toBe('anna');
});
