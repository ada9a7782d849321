import { z } from 'zod';
import { changeDomain } from '../../commands/sending-domain/change-domain.ts';
import { unsubscribeUrlProblem } from '../../domain/message/draft.ts';
import type { Branding } from '../../domain/sending-domain/events.ts';
import { ifMatch, setRevision } from '../consistency.ts';
import { endpoint } from '../endpoint.ts';
import { domainSchema } from '../schemas/domain.ts';
import { shownLine } from '../validation/fields.ts';
import { loadDomain, serializeDomainOf } from './domains.ts';
import { tracking } from './messages/send-fields.ts';

/** Longer names push the question of the page out of sight. */
const SENDER_CHARACTERS_MAX = 100;
const logoUrl = z.string().superRefine((text, context) => {
  const problem = unsubscribeUrlProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const changes = z.strictObject({
  branding: z
    .strictObject({
      name: shownLine(SENDER_CHARACTERS_MAX).nullable().default(null).describe('The domain’s name when null.'),
      color: z
        .string()
        .refine((text) => /^#[0-9a-fA-F]{6}$/.test(text), 'must be a colour such as #1a56b0')
        .transform((text) => text.toLowerCase())
        .nullable()
        .default(null)
        .describe('Color of buttons, `#rrggbb`. Their text is black or white, whichever is legible.'),
      logo_url: logoUrl
        .nullable()
        .default(null)
        .describe('An image on your server, https. Without one, pages load nothing from elsewhere.'),
    })
    .nullable()
    .optional()
    .describe('How recipient pages show the sender. Replaced as a whole; null removes it.'),
  tracking: tracking.optional().describe('Default tracking of mail accepted from now on. A message can override it.'),
});

type SentBranding = NonNullable<z.output<typeof changes>['branding']>;

const brandingOf = (sent: SentBranding | null): Branding | null =>
  sent === null ? null : { name: sent.name, color: sent.color, logoUrl: sent.logo_url };

export const updateDomainRoute = endpoint(
  'PATCH /v1/domains/:id',
  {
    summary: 'Change the settings of a domain',
    description: 'Absent fields stay unchanged.',
    body: changes,
    examples: {
      'Name and colour of the pages for recipients': { branding: { name: 'Example Shop', color: '#1a56b0' } },
      Neither: { branding: null },
      'Track clicks': { tracking: { clicks: true } },
    },
    answer: domainSchema,
  },
  async ({ caller, origin, id, body: { branding, tracking: tracked }, request, reply }, route) => {
    const { deps, auth } = route;
    await loadDomain(deps, caller, id);
    const { domain, revision } = await changeDomain(deps.context, origin, {
      domainId: id,
      settings: {
        ...(branding === undefined ? {} : { branding: brandingOf(branding) }),
        ...(tracked === undefined ? {} : { tracking: tracked }),
      },
      ...ifMatch(request),
    });
    setRevision(reply, revision);
    await auth.keyCache.catchUp();
    return serializeDomainOf(route, domain);
  },
);
