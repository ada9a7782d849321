import type { Pool } from 'pg';
import type { MemberView, MemberViews, StoredMemberView, ViewOwner } from '../domain/ports/member-views.ts';
import { orUnavailable } from '../lib/postgres/postgres.ts';

const LIST = {
  name: 'member-views-list',
  text: `
    select v.view->>'name' as name, v.view->>'path' as path, v.view->>'query' as query
    from vault.member_views m, jsonb_array_elements(m.views) with ordinality as v (view, place)
    where m.member_id = $1 and m.organization_id = $2
    order by v.place`,
};

const REPLACE = {
  name: 'member-views-replace',
  text: `
    insert into vault.member_views (member_id, organization_id, views, address_digests) values ($1, $2, $3, $4)
    on conflict (member_id) do update set views = excluded.views, address_digests = excluded.address_digests`,
};

const DELETE = {
  name: 'member-views-delete',
  text: 'delete from vault.member_views where member_id = $1 and organization_id = $2',
};

const storedView = ({ name, path, query, addressDigests }: StoredMemberView): object => ({
  name,
  path,
  query,
  digests: addressDigests,
});

/** Saved views in the vault. */
export const createPostgresMemberViews = ({ pool }: { readonly pool: Pool }): MemberViews => {
  const valuesOf = ({ memberId, organizationId }: ViewOwner): string[] => [memberId, organizationId];
  return {
    list: async (owner) => (await orUnavailable(pool.query<MemberView>({ ...LIST, values: valuesOf(owner) }))).rows,
    replace: async (owner, views) => {
      const digests = views.flatMap(({ addressDigests }) => addressDigests);
      const rows = [JSON.stringify(views.map(storedView)), [...new Set(digests)]];
      await orUnavailable(
        pool.query(
          views.length === 0
            ? { ...DELETE, values: valuesOf(owner) }
            : { ...REPLACE, values: [...valuesOf(owner), ...rows] },
        ),
      );
    },
  };
};
