/** A name server said something that is no answer. */
export class BadReply extends Error {
  override readonly name = 'BadReply';
}
