// What is fetched only once it is needed.

/**
 * @template T
 * @param {() => Promise<T>} fetch
 * @returns {Promise<T | null>} null: it did not come, or does not go with what is here. To load the page anew helps
 */
export async function fetchLate(fetch) {
  try {
    return await fetch();
  } catch (error) {
    // A file that does not come is a server that is away. Anything else is a server of another version, whose files do not go
    // with those of this page; or a fault of ours, which is to be seen.
    if (!(error instanceof TypeError)) console.error(error);
    return null;
  }
}
