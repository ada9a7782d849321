import { expect, test } from 'vitest';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { freePort } from '../../support/free-port.ts';
import { statuses, until } from '../delivering.ts';
import { openService } from '../service.ts';
import { isPostfixInstalled, openBouncingPostfix } from './bouncing-postfix.ts';
import { BOUNCE_DOMAIN, openReceiving } from './receiving.ts';

test.skipIf(!isPostfixInstalled())(
  'mail that a real Postfix cannot deliver is reported, recipient by recipient',
  async () => {
    const port = await freePort();
    const service = closedAfterTest(await openService({ smtpUrl: `smtp://127.0.0.1:${port}` }));
    const { port: bouncePort } = await openReceiving(service);
    closedAfterTest(await openBouncingPostfix({ port, bouncePort }));
    service.workers({ bounceDomain: BOUNCE_DOMAIN }).start();
    const one = await service.send('ann@example.org');
    const two = await service.send(['ann@example.org', 'bob@later.example.org', 'eve@example.com']);
    const together = await service.send(['ann@example.org', 'eve@example.org']);
    await until(async () => expect(await statuses(service, together)).toEqual(['bounced', 'bounced']));
    const bounced = (await service.context.store.readStream(messageStream(together))).slice(-2);
    // Postfix quotes the envelope id, which no member of the recipient's domain could know.
    for (const { data } of bounced) {
      expect(data).toMatchObject({ category: 'no_mailbox' });
      expect(data).not.toHaveProperty('shared');
    }
    await until(async () => expect(await statuses(service, one)).toEqual(['bounced']));
    await until(async () => expect(await statuses(service, two)).toEqual(['bounced', 'delivered', 'bounced']));
    expect((await service.message(one)).recipients).toMatchObject([
      { category: 'no_mailbox', smtp: { enhanced: '5.1.1' }, reason: 'a report says that it could not be delivered' },
    ]);
  },
);
