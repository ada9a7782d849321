const CREATED = 201;

/** Registers a webhook for accepted messages. @throws if it is rejected. */
export const registerWebhook = async (
  key: string,
  { apiUrl, url }: { readonly apiUrl: string; readonly url: string },
): Promise<void> => {
  const response = await fetch(`${apiUrl}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['message.accepted'] }),
  });
  if (response.status !== CREATED) throw new Error(`no webhook: ${response.status} ${await response.text()}`);
};
