import type { AnyBody, ApiClient } from './api-client.ts';

/** Captured mail with its contents and its source, newest first. @param query `?to=…`. */
export const readInbox = async (api: Pick<ApiClient, 'get'>, query = ''): Promise<readonly AnyBody[]> => {
  const { body } = await api.get(`/v1/inbox${query}`);
  return Promise.all(
    body.data.map(async ({ id }: { readonly id: string }) => {
      const mail = await api.get(`/v1/inbox/${id}`);
      const source = await api.get(`/v1/inbox/${id}/raw`);
      return { ...mail.body, raw: source.body };
    }),
  );
};
