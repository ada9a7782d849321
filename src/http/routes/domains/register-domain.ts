import { z } from 'zod';
import { registerDomain } from '../../../commands/sending-domain/register-domain.ts';
import { domainOf, parseMailbox } from '../../../domain/email-address.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { domainShape } from '../../schemas/domain.ts';
import { presentDomain } from './present-domain.ts';

/** A-labels, lower case; null where no address could be on such a domain. */
const domainName = (text: string): string | null => {
  const parsed = text.includes('@') ? 'not a name' : parseMailbox(`postmaster@${text}`);
  return typeof parsed === 'string' ? null : domainOf(parsed.address);
};

const body = z.strictObject({
  name: z
    .string()
    .refine((text) => domainName(text) !== null, 'is not a domain name')
    .transform((text) => domainName(text) ?? '')
    .describe('`mail.example.com`: all that stands behind the @ of addresses.'),
});

export const registerDomainRoute = (route: RouteContext): void => {
  const { context } = route.deps;
  const { keyCache } = route.auth;
  defineEndpoint(
    route,
    'POST /v1/domains',
    {
      summary: 'Register a sending domain',
      body,
      examples: { 'A domain': { name: 'mail.example.com' } },
      answer: domainShape,
    },
    async ({ origin, body: { name }, reply }) => {
      const { domain, revision } = await registerDomain(context, origin, { name });
      setRevision(reply, revision);
      reply.header('location', `/v1/domains/${domain.domainId}`);
      await keyCache.catchUp();
      return presentDomain(route, domain);
    },
  );
};
