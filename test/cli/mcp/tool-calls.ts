import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { type Confirmations, createConfirmations, createMcpServer } from '../../../src/cli/mcp/server.ts';

/** A server for one key. */
export const serverWith = (
  { url, key }: { readonly url: string; readonly key: string },
  confirmations: Confirmations = createConfirmations(),
  sendsAtOnce = false,
) => createMcpServer({ target: { url, key, profile: null }, by: key, confirmations, sendsAtOnce, version: '0' });

export interface Answer {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

export const call = async (
  client: Client,
  name: string,
  input: object = {},
): Promise<Answer & { readonly text: string }> => {
  const answer = (await client.callTool({ name, arguments: { ...input } })) as unknown as Answer;
  return { ...answer, text: answer.content.map(({ text }) => text).join('\n') };
};

export const dataIn = ({ content }: Answer) => JSON.parse(content.at(-1)?.text ?? '');
