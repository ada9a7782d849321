/** The log or the database cannot be reached now. The call wrote nothing: try again later. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}
