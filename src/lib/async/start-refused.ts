/**
 * The service cannot or must not start. The message is one sentence for the operator: what is wrong and what to do
 * about it; it is printed as it is, without a stack.
 */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}
