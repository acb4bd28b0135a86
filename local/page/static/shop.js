// The shop: who is shopping, what there is, what is in the cart, and the checkout.

import { Customer, Problem, readProducts } from "./api.js";
import { byId, button, duration, element, plural, rupiah, say, showItems, showResult } from "./dom.js";
import { explain } from "./problem.js";

const REMEMBERED = "skincare.customer";
const MOST_OF_ONE = 99;

let customer = null;
let products = [];
let cart = null;
let turn = 0; // whoever was picked last wins, however long the answers take
let line = Promise.resolve(); // changes of the cart go one after the other
let key = null; // of an order that somebody means to place and does not have yet
let placing = false;
let changed = () => {};

export const currentCustomer = () => customer;

/** Begin; `onCustomer` is called whenever somebody else shops. */
export function openShop(onCustomer) {
  changed = onCustomer;
  recall();
  byId("customer").addEventListener("change", pick);
  byId("locale").addEventListener("change", pick);
  byId("customer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    signIn();
  });
  byId("checkout").addEventListener("submit", (event) => {
    event.preventDefault();
    placeOrder();
  });
  showAddressField();
}

/** Load what the page shows of the shop, after the start and whenever the system is back. */
export async function refreshShop() {
  await Promise.all([refreshProducts(), customer ? refreshCart() : pick()]);
}

export async function refreshProducts() {
  try {
    products = await readProducts();
  } catch (error) {
    say(byId("products-empty"), error instanceof Problem ? explain(error.body, names()).join(" ") : "");
    return;
  }
  showProducts();
}

// who

const isOwnAddress = () => byId("customer").value === "";

function pick() {
  showAddressField();
  if (!isOwnAddress()) return signIn();
  turn += 1;
  setCustomer(null);
  say(byId("customer-said"), "Type an address: mail to it stays on this machine.");
  return byId("address").value ? signIn() : undefined;
}

function showAddressField() {
  byId("own-address").hidden = !isOwnAddress();
  byId("use-address").hidden = !isOwnAddress();
}

async function signIn() {
  const mine = ++turn;
  const email = isOwnAddress() ? byId("address").value.trim() : byId("customer").value;
  try {
    const found = await Customer.signIn(email, byId("locale").value);
    if (mine !== turn) return;
    sayOfCustomer(`Shopping as ${found.email}.`);
    setCustomer(found);
    remember();
    await refreshCart();
  } catch (error) {
    if (mine !== turn) return;
    setCustomer(null);
    sayOfCustomer(error instanceof Problem ? error.body.detail : "The system does not answer.", true);
    if (isOwnAddress()) byId("address").focus();
  }
}

function sayOfCustomer(text, bad = false) {
  byId("customer-said").classList.toggle("is-bad", bad);
  byId("address").setAttribute("aria-invalid", bad);
  say(byId("customer-said"), text);
}

function setCustomer(found) {
  customer = found;
  cart = null;
  key = null;
  byId("checkout-result").replaceChildren();
  showProducts();
  showCart();
  changed();
}

function remember() {
  try {
    localStorage.setItem(REMEMBERED, JSON.stringify({ email: customer.email, locale: customer.locale }));
  } catch {
    // A browser may keep nothing for us.
  }
}

function recall() {
  let known = null;
  try {
    known = JSON.parse(localStorage.getItem(REMEMBERED));
  } catch {
    // As above, or it kept something else.
  }
  if (!known?.email) return;
  const select = byId("customer");
  const listed = [...select.options].some((option) => option.value === known.email);
  select.value = listed ? known.email : "";
  if (!listed) byId("address").value = known.email;
  byId("locale").value = known.locale === "en" ? "en" : "id";
}

// what there is

const names = () => new Map(products.map((product) => [product.sku, product.name]));

function showProducts() {
  say(byId("products-empty"), products.length ? "" : "There are no products.");
  const signedIn = customer !== null;
  showItems(
    byId("products"),
    products.map((product) => ({ ...product, signedIn })),
    (product) => product.sku,
    (product) => {
      const few = product.stock <= 1 ? "few" : "";
      return element(
        "li",
        {},
        element("span", { className: "name" }, product.name),
        element(
          "span",
          { className: "quiet" },
          element("span", { className: "number" }, rupiah(product.price_rupiah)),
          " · ",
          element("span", { className: few }, product.stock ? `${product.stock} left` : "sold out"),
        ),
        button("Add", "secondary", {
          label: `Add ${product.name} to the cart`,
          focus: "add",
          disabled: !product.signedIn || product.stock === 0,
          onclick: () => change(product.sku, (quantity) => quantity + 1, `Added ${product.name}.`),
        }),
      );
    },
  );
}

// what is in the cart

const quantityOf = (sku) => cart?.items.find((item) => item.sku === sku)?.quantity ?? 0;

/** Change a line of the cart; `next` gets its quantity, 0 removes it. */
function change(sku, next, done) {
  const who = customer;
  line = line.then(async () => {
    if (who !== customer) return;
    const quantity = Math.min(next(quantityOf(sku)), MOST_OF_ONE);
    try {
      const path = `/v1/cart/items/${encodeURIComponent(sku)}`;
      const answer = await (quantity > 0
        ? who.call("PUT", path, { body: { quantity } })
        : who.call("DELETE", path));
      if (who !== customer) return;
      byId("checkout-result").replaceChildren();
      key = null;
      setCart(answer);
      say(
        byId("cart-said"),
        `${done} The cart has ${plural(countItems(), "item")}, ${rupiah(cart.total_rupiah)} in total.`,
      );
    } catch (error) {
      if (who === customer) tellProblem(error);
    }
  });
}

async function refreshCart() {
  const who = customer;
  try {
    const answer = await who.call("GET", "/v1/cart");
    if (who === customer) setCart(answer);
  } catch (error) {
    if (who === customer) tellProblem(error);
  }
}

function setCart(found) {
  cart = found;
  showCart();
}

const countItems = () => (cart?.items ?? []).reduce((sum, item) => sum + item.quantity, 0);

function showCart() {
  const items = cart?.items ?? [];
  say(byId("cart-of"), customer ? `of ${customer.email}` : "");
  say(
    byId("cart-empty"),
    items.length ? "" : customer ? "The cart is empty. Add a product." : "Pick a customer to see the cart.",
  );
  say(byId("total"), rupiah(cart?.total_rupiah ?? 0));
  byId("cart-count").hidden = items.length === 0;
  say(byId("cart-count"), String(countItems()));
  showOrderButton();
  showItems(byId("cart-lines"), items, (item) => item.sku, buildLine);
}

function showOrderButton() {
  const place = byId("place-order");
  place.disabled = placing || !cart?.items.length;
  say(place, placing ? "Placing the order…" : "Place order");
}

function buildLine(item) {
  const step = (sign, label, by, disabled) =>
    button(sign, "secondary step", {
      label: `${label} ${item.name}`,
      focus: label,
      disabled,
      onclick: () => change(item.sku, (quantity) => Math.max(1, quantity + by), `Changed ${item.name}.`),
    });
  const short = item.quantity > item.stock ? ` · only ${item.stock} left` : "";
  return element(
    "li",
    {},
    element(
      "div",
      { className: "line" },
      element("span", { className: "name" }, item.name),
      element("span", { className: "number" }, rupiah(item.line_total_rupiah)),
    ),
    element("p", { className: "quiet" }, `${rupiah(item.price_rupiah)} each${short}`),
    element(
      "div",
      { className: "quantity" },
      step("−", "One less of", -1, item.quantity <= 1),
      element("output", { className: "number", "aria-label": `Quantity of ${item.name}` }, String(item.quantity)),
      step("+", "One more of", +1, item.quantity >= MOST_OF_ONE),
      button("Remove", "plain", {
        label: `Remove ${item.name}`,
        focus: "remove",
        onclick: () => {
          change(item.sku, () => 0, `Removed ${item.name}.`);
          byId("cart").focus({ preventScroll: true });
        },
      }),
    ),
  );
}

// the checkout

async function placeOrder() {
  await line; // with the cart as the customer sees it
  if (placing || !cart?.items.length) return;
  const who = customer;
  const body = { expected_total_rupiah: cart.total_rupiah };
  const fields = { recipient_name: "recipient", shipping_address: "shipping", note: "note" };
  for (const [name, id] of Object.entries(fields)) {
    const text = byId(id).value.trim();
    if (text) body[name] = text;
  }
  key ??= crypto.randomUUID();
  placing = true;
  showOrderButton();
  const started = performance.now();
  try {
    const order = await who.call("POST", "/v1/orders", { body, headers: { "Idempotency-Key": key } });
    key = null;
    if (who !== customer) return;
    const seconds = (performance.now() - started) / 1000;
    showResult(byId("checkout-result"), {
      good: true,
      title: `Order ${order.order_number} is placed`,
      lines: [
        `${rupiah(order.total_rupiah)}, answered after ${duration(seconds)}. The mail to ${who.email} follows below.`,
      ],
    });
  } catch (error) {
    if (who !== customer) return;
    // With the same key a repetition cannot order twice.
    const open = !(error instanceof Problem) || error.body.status >= 500 || error.body.code === "concurrent_request";
    if (!open) key = null;
    tellProblem(error, open ? "Place the order again: it will not be placed twice." : null);
  } finally {
    placing = false;
    showOrderButton();
    if (who === customer) await Promise.all([refreshCart(), refreshProducts()]);
  }
}

function tellProblem(error, advice = null) {
  const body = error instanceof Problem ? error.body : null;
  showResult(byId("checkout-result"), {
    good: false,
    title: body ? body.title : "No answer",
    lines: [...(body ? explain(body, names()) : ["The system does not answer."]), ...(advice ? [advice] : [])],
    raw: body,
  });
}
