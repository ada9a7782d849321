import { SANDBOX_DOMAIN, type SandboxAddress, sandboxAddress } from '../../domain/message/attempt.ts';
import type { MailTransport, OutgoingMail, RecipientOutcome, Reply, SendOptions } from '../../domain/ports/mail.ts';

const ORDINARY: SandboxAddress = { fate: 'delivered', retryAfterSeconds: null };

const said = (recipientId: string, code: number, enhanced: string, text: string): Reply => ({
  recipientId,
  code,
  enhanced,
  mx: SANDBOX_DOMAIN,
  tls: null,
  text,
});

const simulate = (recipientId: string, address: string, attempt: number): RecipientOutcome => {
  const { fate, retryAfterSeconds } = sandboxAddress(address) ?? ORDINARY;
  const accepted = said(recipientId, 250, '2.0.0', 'simulated: accepted');
  switch (fate) {
    case 'delivered':
      return { outcome: 'delivered', ...accepted };
    case 'complained':
      return { outcome: 'delivered', complained: true, ...accepted };
    case 'bounced':
      return { outcome: 'bounced', ...said(recipientId, 550, '5.1.1', 'simulated: no such mailbox') };
    case 'suppressed':
      return { outcome: 'suppressed', ...said(recipientId, 0, '5.7.1', 'simulated: the address is suppressed') };
    case 'deferred': {
      if (attempt > 1) return { outcome: 'delivered', ...accepted };
      const deferred = said(recipientId, 451, '4.3.0', 'simulated: try again later');
      return { outcome: 'deferred', ...deferred, ...(retryAfterSeconds !== null && { retryAfterSeconds }) };
    }
    default:
      return fate satisfies never;
  }
};

/**
 * The transport of test keys. Nothing is sent: ordinary recipients are delivered, and sandbox addresses select their
 * outcome.
 * @param capture receives delivered mail, so that it can be inspected.
 */
export const createSimulatedTransport = (capture?: MailTransport): MailTransport => {
  /** Returns the simulated outcomes. If capturing fails, its outcome replaces them, and the message is retried. */
  const captured = async (
    capturing: MailTransport,
    mail: OutgoingMail,
    simulated: readonly RecipientOutcome[],
    options: SendOptions,
  ): Promise<readonly RecipientOutcome[]> => {
    const delivered = new Set(simulated.filter(({ outcome }) => outcome === 'delivered').map((one) => one.recipientId));
    if (delivered.size === 0) return simulated;
    const to = mail.envelope.to.filter(({ recipientId }) => delivered.has(recipientId));
    const told = await capturing.send({ ...mail, envelope: { ...mail.envelope, to } }, options);
    const failed = new Map(told.filter(({ outcome }) => outcome !== 'delivered').map((one) => [one.recipientId, one]));
    return simulated.map((one) => failed.get(one.recipientId) ?? one);
  };

  return {
    send: async (mail, options) => {
      const { envelope, attempt } = mail;
      const simulated = envelope.to.map(({ recipientId, address }) => simulate(recipientId, address, attempt));
      return capture === undefined ? simulated : captured(capture, mail, simulated, options);
    },
    close: async () => capture?.close(),
  };
};
