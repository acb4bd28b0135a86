// HTTP: the shop's API as any front end calls it, and the few paths of the local system.

let csrfToken = "";

/** An answer that says what went wrong (RFC 9457); `body` has its members. */
export class Problem extends Error {
  constructor(body, retryAfter) {
    super(body.title);
    this.body = body;
    this.retryAfter = retryAfter;
  }
}

/** Nobody answered, or not in our language. */
export class Unreachable extends Error {}

/** Call a path of this origin; resolves to the decoded body, rejects with `Problem` or `Unreachable`. */
async function call(method, path, { body, headers = {} } = {}) {
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
    answer = await response.json();
  } catch {
    throw new Unreachable(`${method} ${path}`);
  }
  if (response.ok) return answer;
  const fallback = { title: "Something went wrong", detail: "", status: response.status, code: "unknown" };
  throw new Problem({ ...fallback, ...answer }, response.headers.get("Retry-After"));
}

export async function readState() {
  const state = await call("GET", "/_local/state");
  csrfToken = state.csrf_token;
  return state;
}

export const readMails = (limit) => call("GET", `/_local/mails?limit=${limit}`);

export const readProducts = async () => (await call("GET", "/v1/products?limit=100")).data;

/** Somebody who shops: calls the API with a token of their own. */
export class Customer {
  constructor({ token, email, locale }) {
    this.token = token;
    this.email = email;
    this.locale = locale;
  }

  static async signIn(email, locale) {
    return new Customer(await askForToken(email, locale));
  }

  isNamed(email) {
    return this.email.toLowerCase() === email.toLowerCase();
  }

  /** Fetch a file to which the API leads; resolves to a `Blob`, null while it is being made. */
  async fetchFile(path) {
    let response;
    try {
      response = await fetch(path, { headers: { Authorization: `Bearer ${this.token}` }, cache: "no-store" });
    } catch {
      throw new Unreachable(`GET ${path}`);
    }
    if (response.status === 202) return null;
    if (response.ok) return response.blob();
    const fallback = { title: "The file is not available", detail: "", status: response.status, code: "unknown" };
    throw new Problem({ ...fallback, ...(await response.json().catch(() => ({}))) }, null);
  }

  /** Call the API; a token that is refused, as after an hour, is asked for anew once. */
  async call(method, path, { body, headers } = {}) {
    const request = () =>
      call(method, path, { body, headers: { ...headers, Authorization: `Bearer ${this.token}` } });
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Problem) || error.body.status !== 401) throw error;
      this.token = (await askForToken(this.email, this.locale)).token;
      return request();
    }
  }
}

const askForToken = (email, locale) => act("/_local/token", { email, locale });

/** Call one of the local system's own paths that only its page may call. */
export async function act(path, body) {
  const ask = () => call("POST", path, { body, headers: { "X-CSRF-Token": csrfToken } });
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Problem) || error.body.status !== 403) throw error;
    await readState(); // the system was started again since we last looked
    return ask();
  }
}
