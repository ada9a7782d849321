import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { statuses } from '../delivering.ts';
import { BOUNCE_DOMAIN, deliveryReport } from './receiving.ts';
import { openReturning, send } from './returning.ts';

const ANN = 'ann@example.org';

describe('the listener', () => {
  test.each([
    `postmaster@${BOUNCE_DOMAIN}`,
    `b123@${BOUNCE_DOMAIN}`,
    `b${'0'.repeat(48)}@elsewhere.test`,
    'fbl@bounces.elsewhere.test',
  ])('receives nothing for %s', async (address) => {
    const service = await openReturning();
    expect(await service.bring(address, deliveryReport({ address: ANN }))).toBe(550);
  });

  test('receives for the return path of a domain of its customers', async () => {
    const service = await openReturning();
    const { id, from } = await send(service, ANN);
    const alias = from.replace(BOUNCE_DOMAIN, 'bounces.shop.example');
    expect(await service.bring(alias, deliveryReport({ address: ANN }))).toBe(250);
    expect(await statuses(service, id)).toEqual(['bounced']);
  });

  test('has twenty sessions for one host', async () => {
    const { port } = await openReturning();
    const sockets = Array.from({ length: 25 }, () => connect(port, '127.0.0.1'));
    const closed = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<boolean>((resolve) => {
            socket.on('error', () => undefined);
            socket.once('close', () => resolve(true));
            setTimeout(() => resolve(false), 500);
          }),
      ),
    );
    for (const socket of sockets) socket.destroy();
    expect(closed.filter(Boolean)).toHaveLength(5);
  });
});
