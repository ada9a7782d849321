/** Domain to which test keys send mail whose outcome they choose: `<fate>[+label]@sandbox.outbox.test`. */
export const SANDBOX_DOMAIN = 'sandbox.outbox.test';

const SANDBOX_FATES = ['delivered', 'bounced', 'deferred', 'complained', 'suppressed'] as const;
type SandboxFate = (typeof SANDBOX_FATES)[number];

export interface SandboxAddress {
  readonly fate: SandboxFate;
  /** Wait from an address such as `deferred+60s`. */
  readonly retryAfterSeconds: number | null;
}

const SHAPE = /^([a-z]+)(?:\+(.*))?@sandbox\.outbox\.test$/;
const WAIT = /^(\d{1,5})s$/;

/** @returns the outcome that the address forces; null for an ordinary address, which is `delivered`. */
export const sandboxAddress = (address: string): SandboxAddress | null => {
  const match = SHAPE.exec(address.toLowerCase());
  const fate = SANDBOX_FATES.find((candidate) => candidate === match?.[1]);
  const wait = WAIT.exec(match?.[2] ?? '')?.[1];
  return fate === undefined ? null : { fate, retryAfterSeconds: wait === undefined ? null : Number(wait) };
};
