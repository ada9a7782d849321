/** A message that cannot be read; its text is the reason, in a phrase. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}
