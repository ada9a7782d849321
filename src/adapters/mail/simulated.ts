import type { MailTransport, OutgoingMail, RecipientOutcome, Reply } from '../../domain/mail-transport.ts';
import { SANDBOX_DOMAIN, type SandboxAddress, sandboxAddress } from '../../domain/sandbox-address.ts';

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

/** The transport of test keys: nothing leaves, ordinary recipients are delivered, sandbox addresses choose their fate. */
export const createSimulatedTransport = (): MailTransport => ({
  send: async ({ envelope, attempt }: OutgoingMail) =>
    envelope.to.map(({ recipientId, address }) => simulate(recipientId, address, attempt)),
  close: async () => undefined,
});
