import { z } from 'zod';
import { organizationSecret } from '../../../commands/organization.ts';
import { addressDigest } from '../../../commands/suppression.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import type { MemberView, StoredMemberView, ViewOwner } from '../../../domain/ports/member-views.ts';
import { parseMailbox } from '../../../lib/mime/mime.ts';
import { endpoint } from '../../endpoint.ts';
import { line, listOf, listSchema, shownLine } from '../../fields.ts';

/** Views of the dashboard that a member saves. */

/** Views of a member. Higher: the menu needs a search. Lower: members who watch many keys run out. */
const VIEWS_MAX = 50;
const NAME_CHARACTERS_MAX = 60;
const PATH_CHARACTERS_MAX = 200;
/** A filter has at most 998 characters. Higher: 50 views take more space. Lower: a view with several filters is refused. */
const QUERY_CHARACTERS_MAX = 4_000;

/** Ids and words. It begins with one slash, so that a link to it stays in the dashboard. */
const PATH = /^\/(?:[\w-]+(?:\/[\w-]+)*)?$/;

const viewSchema = z
  .strictObject({
    name: shownLine(NAME_CHARACTERS_MAX),
    path: z
      .string()
      .max(PATH_CHARACTERS_MAX)
      .regex(PATH, 'must be the path of a screen, such as /messages')
      .describe('Path of the screen below `/dashboard`.'),
    query: line(QUERY_CHARACTERS_MAX, 0).describe('Filters of the screen as a query string, without `?`.'),
  })
  .meta({ id: 'SavedView' });
export type SerializedView = z.infer<typeof viewSchema>;

const viewsSchema = listSchema(viewSchema);

const ownerOf = ({ organizationId, keyId }: Caller): ViewOwner => ({ organizationId, memberId: keyId });

/** Text that can be in an address. */
const WORD = /[^\s<>"',;:&=?()]+@[^\s<>"',;:&=?()]+/g;

/** Addresses in the name and the filters. */
const addressesIn = ({ name, query }: MemberView): readonly string[] => {
  const values = [...new URLSearchParams(query)].flat();
  const words = [name, ...values].flatMap((text) => text.match(WORD) ?? []);
  return [
    ...new Set(
      words.flatMap((word) => {
        const mailbox = parseMailbox(word);
        return typeof mailbox === 'string' ? [] : [mailbox.address];
      }),
    ),
  ];
};

const isDistinct = (views: readonly MemberView[]): boolean =>
  new Set(views.map(({ path, name }) => `${path}\0${name}`)).size === views.length;

const listViewsRoute = endpoint(
  'GET /v1/session/views',
  {
    summary: 'List your saved views',
    description:
      'Returns the views of the dashboard that the signed-in member saved, in the order in which they were sent.',
    answer: viewsSchema,
  },
  async ({ caller }, { deps: { memberViews } }) =>
    listOf((await memberViews.list(ownerOf(caller))).slice(0, VIEWS_MAX), false, null),
);

const replaceViewsRoute = endpoint(
  'PUT /v1/session/views',
  {
    summary: 'Save your views',
    description:
      `Replaces all saved views of the signed-in member, at most ${VIEWS_MAX}. Only this member sees them. They are deleted ` +
      'with the member, and a view that contains the address of a person is deleted when the person is erased.',
    body: z.strictObject({
      views: z
        .array(viewSchema)
        .max(VIEWS_MAX)
        .refine(isDistinct, 'must have a different name for each view of a screen')
        .describe('All views, in the order of the menu.'),
    }),
    examples: {
      'Bounces of a week': { views: [{ name: 'Bounces', path: '/messages', query: 'status=bounced&period=3d' }] },
    },
    answer: viewsSchema,
    etag: false,
  },
  async ({ caller, body: { views } }, { deps: { context, memberViews } }) => {
    const secret = await organizationSecret(context.secrets, caller.organizationId);
    const stored = views.map(
      (view): StoredMemberView => ({
        ...view,
        addressDigests: addressesIn(view).map((address) => addressDigest(secret, address)),
      }),
    );
    await memberViews.replace(ownerOf(caller), stored);
    return listOf(views, false, null);
  },
);

export const VIEW_ROUTES = { listViewsRoute, replaceViewsRoute };
