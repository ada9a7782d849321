import { describe, expect, it } from 'vitest';
import { createSimulatedTransport } from '../../../src/adapters/mail/capture.ts';
import type { MailTransport } from '../../../src/domain/ports/mail.ts';
import { outgoingMail } from './outgoing-mail.ts';

const transport = createSimulatedTransport();

const outcomeOf = async (address: string, attempt = 1) => {
  const [outcome] = await transport.send(outgoingMail({ envelopeTo: [address], attempt }), { deadlineMs: 0 });
  return outcome;
};

describe('the simulated transport', () => {
  it.each([
    ['someone@b.test', { outcome: 'delivered', code: 250, enhanced: '2.0.0' }],
    ['delivered@sandbox.outbox.test', { outcome: 'delivered', code: 250 }],
    ['bounced@sandbox.outbox.test', { outcome: 'bounced', code: 550, enhanced: '5.1.1' }],
    ['Bounced+label@SANDBOX.outbox.test', { outcome: 'bounced', code: 550 }],
    ['deferred@sandbox.outbox.test', { outcome: 'deferred', code: 451, enhanced: '4.3.0' }],
    ['deferred+60s@sandbox.outbox.test', { outcome: 'deferred', retryAfterSeconds: 60 }],
    ['complained@sandbox.outbox.test', { outcome: 'delivered', complained: true }],
    ['suppressed+x@sandbox.outbox.test', { outcome: 'suppressed' }],
    ['other@sandbox.outbox.test', { outcome: 'delivered' }],
    ['bounced@sandbox.outbox.test.b.test', { outcome: 'delivered' }],
  ])('%s', async (address, expected) => {
    expect(await outcomeOf(address)).toMatchObject(expected);
  });

  it('delivers a deferred address at the second attempt', async () => {
    expect(await outcomeOf('deferred@sandbox.outbox.test', 2)).toMatchObject({ outcome: 'delivered' });
  });

  it('answers for each recipient, in order', async () => {
    const to = ['bounced@sandbox.outbox.test', 'x@b.test'];
    const outcomes = await transport.send(outgoingMail({ envelopeTo: to }), { deadlineMs: 0 });
    expect(outcomes.map(({ recipientId, outcome }) => [recipientId, outcome])).toEqual([
      ['rcp_1', 'bounced'],
      ['rcp_2', 'delivered'],
    ]);
  });

  it('captures what it delivers, and nothing else', async () => {
    const taken: (readonly string[])[] = [];
    const capture: MailTransport = {
      send: async ({ envelope }) => {
        taken.push(envelope.to.map(({ address }) => address));
        return envelope.to.map(({ recipientId }) => ({
          recipientId,
          code: 250,
          enhanced: null,
          mx: null,
          tls: null,
          text: 'Ok',
          outcome: 'delivered',
        }));
      },
      close: async () => undefined,
    };
    const capturing = createSimulatedTransport(capture);
    const mixed = outgoingMail({ envelopeTo: ['bounced@sandbox.outbox.test', 'someone@b.test'] });
    const outcomes = await capturing.send(mixed, { deadlineMs: 0 });
    expect(outcomes.map(({ outcome, mx }) => [outcome, mx])).toEqual([
      ['bounced', 'sandbox.outbox.test'],
      ['delivered', 'sandbox.outbox.test'],
    ]);
    await capturing.send(outgoingMail({ envelopeTo: ['bounced@sandbox.outbox.test'] }), { deadlineMs: 0 });
    expect(taken).toEqual([['someone@b.test']]);
  });

  it('defers what could not be captured', async () => {
    const away: MailTransport = {
      send: async ({ envelope }) =>
        envelope.to.map(({ recipientId }) => ({
          recipientId,
          code: 451,
          enhanced: '4.3.0',
          mx: null,
          tls: null,
          text: 'not stored',
          outcome: 'deferred',
        })),
      close: async () => undefined,
    };
    const outcomes = await createSimulatedTransport(away).send(outgoingMail(), { deadlineMs: 0 });
    expect(outcomes).toMatchObject([{ outcome: 'deferred', code: 451 }]);
  });
});
