import { describe, expect, test } from 'vitest';
import { releaseDestination } from '../../../src/commands/destination.ts';
import { load } from '../../../src/commands/execute.ts';
import { sendMessage } from '../../../src/commands/message/send-message.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { destination } from '../../../src/domain/destination/suspension.ts';
import { destinationStream } from '../../../src/domain/kernel/streams.ts';
import { TTL_SECONDS_DEFAULT } from '../../../src/domain/message/retry-schedule.ts';
import type { MailTransport, OutgoingMail, RecipientOutcome } from '../../../src/domain/ports/mail.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { statuses, until } from '../delivering.ts';
import { openService } from '../service.ts';

const MINUTE_MS = 60_000;

type Answer = Pick<RecipientOutcome, 'outcome' | 'code' | 'stage'> &
  Partial<Pick<RecipientOutcome, 'enhanced' | 'destination'>>;
const TAKEN: Answer = { outcome: 'delivered', code: 250, stage: 'content' };
const SILENT: Answer = { outcome: 'deferred', code: 0, stage: 'connect' };
/** RFC 3463 §3.4: system not accepting network messages. */
const SENDER_DEFERRED: Answer = { outcome: 'deferred', code: 421, enhanced: '4.7.0', stage: 'mail' };
const TOO_BUSY: Answer = { outcome: 'deferred', code: 451, enhanced: '4.3.2', stage: 'recipient' };

const domainIn = ({ envelope }: OutgoingMail): string => envelope.to[0]?.address.split('@')[1] ?? '';

/** Servers of many domains with configurable answers. `gone.…` and `late.…` have the provider of the parent domain. */
const openMany = async (answers: Record<string, () => Promise<Answer> | Answer> = {}) => {
  const service = closedAfterTest(await openService());
  const sent: string[] = [];
  const live: MailTransport = {
    send: async (mail) => {
      const domain = domainIn(mail);
      sent.push(`${domain}: ${mail.envelope.to.length}`);
      const answer = await (answers[domain]?.() ?? TAKEN);
      return mail.envelope.to.map(
        ({ recipientId }) =>
          ({ recipientId, enhanced: null, mx: domain, tls: null, text: '', ...answer }) as RecipientOutcome,
      );
    },
    close: async () => undefined,
  };
  service
    .workers({
      transports: { ...service.dependencies.transports, live },
      destinations: { providerOf: async (domain) => domain.replace(/^(?:gone|late)\./, '') },
    })
    .start();
  const suspensionOf = async (provider: string) =>
    (await load(service.dependencies.store, destination, destinationStream(provider))).state.suspension;
  const { context } = service;
  const organizationId = await createOrganization(context, { name: 'Other', ceilings: null });
  /** Sends from a domain of another organization. */
  const sendAsOther = async (to: string, text = 'Hello'): Promise<string> => {
    const domain = { id: 'dom_2', name: 'other.test', verified: true };
    const { message } = await sendMessage(
      context,
      { actor: 'operator', organizationId, environment: 'live', requestId: null, correlationId: 't', causationId: 't' },
      callerWith({ keyId: 'key_2', organizationId, permissions: ['send'], domain }),
      {
        ...{ body: null, idempotencyKey: null },
        draft: {
          ...{ from: { address: 'shop@other.test' }, recipients: [{ address: to, kind: 'to' }], replyTo: [] },
          ...{ subject: 'Hello', text, headers: {}, attachments: [], tags: [], metadata: {} },
          ...{ stream: 'transactional', ttlSeconds: TTL_SECONDS_DEFAULT },
        },
      },
    );
    return message.accepted.messageId;
  };
  return { ...service, service, sent, answers, suspensionOf, sendAsOther };
};

describe('mail to many destinations', () => {
  test('is sent to each domain in one attempt, with all its recipients', async () => {
    const { service, sent, message } = await openMany();
    const id = await service.send(['ann@one.example', 'bob@two.example', 'eve@one.example']);
    await until(async () => expect(await statuses(service, id)).toEqual(Array(3).fill('delivered')));
    expect([...sent].sort()).toEqual(['one.example: 2', 'two.example: 1']);
    expect((await message(id)).attempts).toBe(2);
  });

  test('does not wait for a domain whose servers hang', async () => {
    const { promise: never } = Promise.withResolvers<Answer>();
    let answer = (): void => undefined;
    const hanging = new Promise<Answer>((resolve) => {
      answer = () => resolve(TAKEN);
    });
    const { service } = await openMany({ 'slow.example': () => Promise.race([hanging, never]) });
    const both = await service.send(['ann@slow.example', 'bob@quick.example']);
    const more = await Promise.all(Array.from({ length: 30 }, (_, at) => service.send(`a${at}@slow.example`)));
    const after = await service.send('ann@quick.example');
    await until(async () => expect(await statuses(service, after)).toEqual(['delivered']));
    await until(async () => expect(await statuses(service, both)).toEqual(['sending', 'delivered']));
    answer();
    await until(async () => {
      for (const id of [both, ...more]) expect(new Set(await statuses(service, id))).toEqual(new Set(['delivered']));
    });
  });

  test('of an organization whose recipients all have hanging servers does not delay that of another', async () => {
    const { service, sent, answers, sendAsOther } = await openMany();
    const { promise: ended, resolve: end } = Promise.withResolvers<Answer>();
    const domains = Array.from({ length: 1_000 }, (_, at) => `hanging${at}.example`);
    for (const domain of domains) answers[domain] = () => ended;
    const own: string[] = [];
    for (let from = 0; from < domains.length; from += 4)
      own.push(await service.send(domains.slice(from, from + 4).map((domain) => `ann@${domain}`)));
    await until(() => expect(sent.length).toBeGreaterThanOrEqual(500));
    const other = await sendAsOther('ann@quick.example');
    await until(async () => expect(await statuses(service, other)).toEqual(['delivered']));
    end(TAKEN);
    await until(async () => {
      for (const id of own) expect(new Set(await statuses(service, id))).toEqual(new Set(['delivered']));
    });
  });

  test('in large messages to hanging servers does not use up the memory for that of another organization', async () => {
    const { service, sendAsOther, answers } = await openMany();
    const { promise: ended, resolve: end } = Promise.withResolvers<Answer>();
    const large = 'x'.repeat(25_000_000);
    const own: string[] = [];
    for (const domain of ['one.example', 'two.example', 'three.example']) {
      answers[domain] = () => ended;
      own.push(await service.send(`ann@${domain}`, 'live', large));
    }
    await until(async () =>
      expect((await Promise.all(own.map((id) => statuses(service, id)))).flat()).toContain('sending'),
    );
    const others = [await sendAsOther('ann@quick.example', large), await sendAsOther('bob@quick.example')];
    for (const id of others) await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    end(TAKEN);
    for (const id of own) await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
  });

  test('waits for a provider that does not answer, whatever the domain, without wasted attempts', async () => {
    const { service, sent, answers, suspensionOf } = await openMany({ 'gone.example': () => SILENT });
    const first = await service.send('ann@gone.example');
    await until(async () => expect(await statuses(service, first)).toEqual(['deferred']));
    await until(async () =>
      expect(await suspensionOf('example')).toMatchObject({ reason: 'unreachable', domain: 'gone.example', times: 1 }),
    );
    const second = await service.send('bob@late.example');
    const elsewhere = await service.send('ann@other.test');
    await until(async () => expect(await statuses(service, elsewhere)).toEqual(['delivered']));
    expect(await statuses(service, second)).toEqual(['accepted']);
    expect(sent).toEqual(['gone.example: 1', 'other.test: 1']);
    answers['gone.example'] = () => TAKEN;
    service.system.shift(2 * MINUTE_MS);
    await until(async () => expect(await statuses(service, second)).toEqual(['delivered']));
    await until(async () => expect(await statuses(service, first)).toEqual(['delivered']));
  });

  test('is slowed down by what any copy of a message met, not only the last', async () => {
    const replies = [TOO_BUSY, TAKEN, TOO_BUSY, TAKEN];
    const { service, suspensionOf } = await openMany({ 'busy.example': () => replies.shift() ?? TAKEN });
    const to = ['ann@busy.example', 'bob@busy.example'];
    for (let message = 0; message < 2; message += 1) {
      const id = await service.send(to, 'live', 'Hello', { unsubscribe: 'managed' });
      await until(async () => expect(await statuses(service, id)).toEqual(['deferred', 'delivered']));
    }
    await until(async () =>
      expect(await suspensionOf('dom_1@busy.example')).toMatchObject({ reason: 'busy', code: 451 }),
    );
  });

  test('of a domain with wrong DNS waits on its own: other domains of its provider are served', async () => {
    const { service, answers, suspensionOf } = await openMany({
      'gone.example': () => ({ ...SILENT, destination: '@gone.example' }),
    });
    const first = await service.send('ann@gone.example');
    await until(async () => expect(await statuses(service, first)).toEqual(['deferred']));
    await until(async () =>
      expect(await suspensionOf('@gone.example')).toMatchObject({ reason: 'recipient_domain', domain: 'gone.example' }),
    );
    const second = await service.send('bob@gone.example');
    const other = await service.send('bob@late.example');
    await until(async () => expect(await statuses(service, other)).toEqual(['delivered']));
    expect(await statuses(service, second)).toEqual(['accepted']);
    expect(await suspensionOf('example')).toBeNull();
    answers['gone.example'] = () => ({ ...TAKEN, destination: 'example' });
    service.system.shift(2 * MINUTE_MS);
    await until(async () => expect(await statuses(service, second)).toEqual(['delivered']));
  });

  test('slows down, and eventually stops, for a server that tells all senders that it is too busy', async () => {
    const { service, suspensionOf, sendAsOther } = await openMany({ 'gone.example': () => TOO_BUSY });
    for (const send of [service.send, sendAsOther]) {
      const id = await send('ann@gone.example');
      await until(async () => expect(await statuses(service, id)).toEqual(['deferred']));
    }
    await until(async () =>
      expect(await suspensionOf('example')).toMatchObject({ reason: 'busy', code: 451, enhanced: '4.3.2', times: 1 }),
    );
  });

  test('continues for other senders when a server wants less mail of one sender, whose mail waits', async () => {
    const replies: Answer[] = [SENDER_DEFERRED, SENDER_DEFERRED];
    const { service, sent, suspensionOf, sendAsOther } = await openMany({
      'gone.example': () => replies.shift() ?? TAKEN,
    });
    for (const user of ['ann', 'bob']) {
      const id = await service.send(`${user}@gone.example`);
      await until(async () => expect(await statuses(service, id)).toEqual(['deferred']));
    }
    await until(async () =>
      expect(await suspensionOf('dom_1@example')).toMatchObject({ reason: 'busy', code: 421, domain: 'gone.example' }),
    );
    expect(await suspensionOf('example')).toBeNull();
    const waits = await service.send('eve@gone.example');
    const other = await sendAsOther('ann@gone.example');
    await until(async () => expect(await statuses(service, other)).toEqual(['delivered']));
    expect(await statuses(service, waits)).toEqual(['accepted']);
    expect(sent).toHaveLength(3);
    service.system.shift(3 * MINUTE_MS);
    const after = await service.send('later@gone.example');
    await until(async () => expect(await statuses(service, after)).toEqual(['delivered']));
  });

  test('is sent at once when its destination is released', async () => {
    const { service, answers, suspensionOf, organizationId } = await openMany({ 'gone.example': () => SILENT });
    await service.send('ann@gone.example');
    await until(async () => expect(await suspensionOf('example')).not.toBeNull());
    const waiting = await service.send('bob@gone.example');
    answers['gone.example'] = () => TAKEN;
    const origin = { actor: 'key:key_1', organizationId, environment: null, requestId: 'req_1' };
    const context = { store: service.dependencies.store, system: service.system };
    await releaseDestination(context, { ...origin, correlationId: 'req_1', causationId: 'req_1' }, 'example');
    service.system.shift(5_000); // it was in the queue a moment ago
    await until(async () => expect(await statuses(service, waiting)).toEqual(['delivered']));
  });

  test('expires on time even if its destination is suspended', async () => {
    const { service, suspensionOf } = await openMany({ 'gone.example': () => SILENT });
    await service.send('ann@gone.example');
    await until(async () => expect(await suspensionOf('example')).not.toBeNull());
    const brief = await service.send('bob@gone.example', 'live', 'Hello', { ttlSeconds: 20 });
    service.system.shift(30_000);
    await until(async () => expect(await statuses(service, brief)).toEqual(['expired']));
  });

  test('is sent in the sandbox whatever the state of destinations', async () => {
    const { service, sent } = await openMany();
    const id = await service.send(['ann@one.example', 'bob@two.example'], 'test');
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'delivered']));
    expect((await service.message(id)).attempts).toBe(1);
    expect(sent).toEqual([]);
  });
});
