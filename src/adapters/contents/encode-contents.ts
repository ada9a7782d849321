import { headOf, type MessageContents } from '../../domain/contents.ts';

/** A row of `vault.contents`, as its columns take it. */
export interface EncodedContents {
  readonly id: string;
  readonly organizationId: string;
  readonly kind: string;
  /** Empty: the body is its own head. */
  readonly head: string;
  readonly body: string;
}

export const encodeContents = ({ id, organizationId, body }: MessageContents): EncodedContents => ({
  ...{ id, organizationId, kind: body.kind, body: JSON.stringify(body) },
  head: body.kind === 'message' ? JSON.stringify(headOf(body)) : '',
});
