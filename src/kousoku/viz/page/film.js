// A page that is nothing but a film.
kousokuPlayer.page();
