import type { Message } from '../../domain/message/message.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { organizationSecret } from '../organization/organization-secret.ts';

/** Stands in where there is no message: secrets in use are in memory as well, so a guess costs the same. */
const NO_SECRET = new Uint8Array(32);

/** The secret that addresses and links of a message are made with; one that nobody uses where there is no message. */
export const secretOfMessage = async (secrets: Secrets, state: Message): Promise<Uint8Array> =>
  state.status === 'absent' ? NO_SECRET : organizationSecret(secrets, state.organizationId);
